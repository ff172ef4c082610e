#!/bin/sh
echo "migrate is done"

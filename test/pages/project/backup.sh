#!/bin/sh
echo "backup is done"

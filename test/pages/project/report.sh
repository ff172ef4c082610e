#!/bin/sh
echo "report is done"

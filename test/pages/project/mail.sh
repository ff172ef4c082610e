#!/bin/sh
echo "mail is done"

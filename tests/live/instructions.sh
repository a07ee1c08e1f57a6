#!/bin/sh
# What an event costs in instructions, held against the figures that are kept.
exec "$(dirname "$0")/../instructions"

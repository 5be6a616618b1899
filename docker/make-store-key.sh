#!/bin/sh
# Draws the key of the object store, once: bare for the store, as a file of credentials for those who
# read reports from it, each readable by its own user only.
#
#   make-store-key.sh DIRECTORY STORE_UID COLLECTOR_UID
set -eu
umask 077
cd "$1"
# Moved into place last, so this file says that all are complete.
[ ! -s credentials ] || exit 0
rm -f user.new key.new credentials.new
key=$(od -A n -v -t x1 -N 24 /dev/urandom | tr -d ' \n')
printf 'halftruth' > user.new
printf '%s' "$key" > key.new
printf '[default]\naws_access_key_id = halftruth\naws_secret_access_key = %s\n' "$key" > credentials.new
chmod 0400 user.new key.new credentials.new
chown "$2" user.new key.new
chown "$3" credentials.new
mv -f user.new user
mv -f key.new key
mv -f credentials.new credentials

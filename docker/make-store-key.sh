#!/bin/sh
# Draws the key of the object store, once: as its own settings, and as a file of credentials for those
# who read reports from it, each readable by its own user only; and key and certificate of the cluster.
#
#   make-store-key.sh DIRECTORY STORE_UID COLLECTOR_UID
set -eu
umask 077
cd "$1"
# Moved into place last, so this file says that all are complete.
[ ! -s credentials ] || exit 0
rm -f store.new credentials.new cluster.new cluster.pem
key=$(od -A n -v -t x1 -N 24 /dev/urandom | tr -d ' \n')
printf '{"identities": [{"name": "halftruth", "credentials": [{"accessKey": "halftruth", "secretKey": "%s"}],
  "actions": ["Admin", "Read", "List", "Write"]}]}' "$key" > store.new
printf '[default]\naws_access_key_id = halftruth\naws_secret_access_key = %s\n' "$key" > credentials.new
openssl req -x509 -newkey rsa:3072 -noenc -days 3650 -subj /CN=cluster -keyout cluster.new \
  -out cluster.pem 2>/dev/null
cat cluster.new >> cluster.pem
rm cluster.new
chmod 0400 cluster.pem
chown "$3" cluster.pem
chmod 0400 store.new credentials.new
chown "$2" store.new
chown "$3" credentials.new
mv -f store.new store.json
mv -f credentials.new credentials

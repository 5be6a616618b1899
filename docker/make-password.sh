#!/bin/sh
# Draws the database's password, once: bare for the database, as libpq's password file for the
# collector, each readable by its own user only. It is stored nowhere else, and nobody needs to see it.
#
#   make-password.sh DIRECTORY DATABASE_UID COLLECTOR_UID
set -eu
umask 077
cd "$1"
# Moved into place last, so this file says that both are complete.
[ ! -s pgpass ] || exit 0
# Left by a start that was broken off; they may belong to others by now.
rm -f password.new pgpass.new
password=$(od -A n -v -t x1 -N 24 /dev/urandom | tr -d ' \n')
printf '%s' "$password" > password.new
printf 'db:5432:halftruth:halftruth:%s\n' "$password" > pgpass.new
chmod 0400 password.new pgpass.new
chown "$2" password.new
chown "$3" pgpass.new
mv -f password.new password
mv -f pgpass.new pgpass

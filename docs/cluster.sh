#!/bin/sh
# Three workers on this machine, each a host by name, one of them held back by a CPU quota: the commands of cluster.md.
# Needs root (host names and a control group of its own) and pip install 'vgo-agent[cluster]'. Puts everything back.
set -eu
here=$(mktemp -d)
group=/sys/fs/cgroup/cpu/vgo-demo
[ -d /sys/fs/cgroup/cpu ] || group=/sys/fs/cgroup/vgo-demo
trap 'kill $pids 2>/dev/null || true; wait; sleep 1; rmdir "$group" 2>/dev/null || true; rm -rf "$here"' EXIT
pids=

dask scheduler --host 127.0.0.1 --port 18786 --no-dashboard >"$here/scheduler.log" 2>&1 &
pids="$pids $!"
mkdir "$group"
for name in n1 n2 n3; do
    unshare --uts sh -c "hostname $name; [ $name = n3 ] && echo \$\$ >$group/cgroup.procs
        exec dask worker tcp://127.0.0.1:18786 --host 127.0.0.1 --nthreads 1 --resources bench=1 --no-nanny \
            --no-dashboard --name $name --local-directory $here/$name" >"$here/$name.log" 2>&1 &
    pids="$pids $!"
done
sleep 15
if [ -e "$group/cpu.max" ]; then echo "7000 100000" >"$group/cpu.max"; else echo 7000 >"$group/cpu.cfs_quota_us"; fi

cat >"$here/program.py" <<'PROGRAM'
#!/usr/bin/env -S python3 -IS
import time
end = time.process_time() + 0.04
while time.process_time() < end:
    pass
PROGRAM
chmod +x "$here/program.py"

cat >"$here/on.yaml" <<'FILE'
scheduler: tcp://127.0.0.1:18786
silent_s: 30
FILE

cd "$here"
# n3 alone has a limit that the layer cgroup can see: the hosts differ, which check tells, and --mixed allows.
vgo-agent cluster check --on on.yaml --layer cgroup -- ./program.py || true
vgo-agent profile --on on.yaml --mixed --layer cgroup --runs 45 ./program.py
vgo-agent diagnose --on on.yaml --mixed --layer process --layer cgroup --budget 60 ./program.py

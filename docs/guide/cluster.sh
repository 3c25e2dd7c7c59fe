#!/bin/sh
# Three workers on this machine, each a host by name, one of them held back by a CPU quota: the commands of cluster.md.
# Needs root (host names and a control group of its own) and pip install 'vgo-agent[cluster]'. Puts everything back.
# The run folder and the page of the nodes stay in the folder that is named as the first word; without one, all goes.
set -eu
here=$(mktemp -d)
mkdir -p "${1:-$here}"
kept=$(realpath "${1:-$here}")
group=/sys/fs/cgroup/cpu/vgo-demo
[ -d /sys/fs/cgroup/cpu ] || group=/sys/fs/cgroup/vgo-demo
limit() { # in us of CPU time for each 100 ms; 0: none
    if [ -e "$group/cpu.max" ]; then echo "$([ "$1" = 0 ] && echo max || echo "$1") 100000" >"$group/cpu.max"
    else echo "$([ "$1" = 0 ] && echo -1 || echo "$1")" >"$group/cpu.cfs_quota_us"; fi
}
alive() {
    for pid in $workers $scheduler; do kill -0 "$pid" 2>/dev/null && return 0; done
    return 1
}
ended() {
    trap - EXIT INT TERM
    limit 0
    for pid in $workers $scheduler; do kill "$pid" 2>/dev/null || true; done
    for second in 1 2 3 4 5 6 7 8 9 10; do # a worker may wait for a scheduler that has gone
        alive && sleep 1 || break
    done
    for pid in $workers $scheduler; do kill -9 "$pid" 2>/dev/null || true; done
    wait
    for second in 1 2 3 4 5 6 7 8 9 10; do rmdir "$group" 2>/dev/null && break || sleep 1; done
    rm -rf "$here"
}
workers= scheduler=
trap ended EXIT INT TERM

dask scheduler --host 127.0.0.1 --port 18786 --no-dashboard --dashboard-address 127.0.0.1:0 >"$here/scheduler.log" 2>&1 &
scheduler=$!
mkdir "$group"
for name in n1 n2 n3; do
    unshare --uts sh -c "hostname $name; [ $name = n3 ] && echo \$\$ >$group/cgroup.procs
        exec dask worker tcp://127.0.0.1:18786 --host 127.0.0.1 --nthreads 1 --resources bench=1 --no-nanny \
            --no-dashboard --dashboard-address 127.0.0.1:0 --name $name --local-directory $here/$name" >"$here/$name.log" 2>&1 &
    workers="$workers $!"
done
sleep 15
limit 20000

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
# Where n3 alone has a limit that the layer cgroup can see, the hosts differ: layers tells it, and --mixed allows it.
vgo-agent layers --on on.yaml cgroup -- ./program.py || true
vgo-agent measure --on on.yaml --mixed --layer cgroup --runs 45 ./program.py
vgo-agent diagnose --on on.yaml --mixed --layer cgroup --budget 120 --max-mitigations 1 --out "$kept/run" ./program.py
vgo-agent analyze "$kept"/run/* --by node --save "$kept/nodes"

// Linux: for each core an event that counts nothing and records the core's switches, and one that
// samples the tracepoint of wakings; both write into one ring. A ring is a page with two positions,
// which only grow, and the records behind it; one may begin at its end and go on at its beginning.
//
//   core 0 ──▶ [switch][waking][switch]... ─┐
//   core 1 ──▶ [waking][switch]...          ├──▶ our thread polls ──▶ they are read
//                                           ┘
//
// The records of all rings are taken in the order of time, as far as a moment before the reading
// began: what the system has stamped by then, and what that follows from, is in the rings. A switch
// says who left the core and who came. Where a thread of this process was preempted, it waits for
// the core until it is seen on one; whoever comes to its core meanwhile is told. Other switches are
// passed over, as are those of other processes.
//
// A waking says who woke whom: the waker is the thread that ran, unless the record's flags tell
// that an interrupt had taken its place, in which case the thread that ran has nothing to do with
// it. That includes packets of the network, even those from one thread of this machine to another,
// which the kernel delivers as an interrupt does. Tracepoints give their fields as the kernel has
// them, and so the number of the woken thread in the namespace of the whole machine. In a container
// with numbers of its own it would be taken for another thread, hence wakings are watched only in
// the first namespace.
//
// When a ring is full the system drops records, and says how many in a record of its own, but only
// before the next one that it can write. A ring that is nearly full when it is read therefore
// counts as one that has lost something too. Who waits is forgotten then.
#define _GNU_SOURCE
#include "base/cpu_switches.h"

#if defined(__linux__)

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/posix/perf_ring.h"
#include "base/thread.h"

// 512 KiB and a page are as much as the system lets a process without further rights lock for each
// core.
#define MOST_RING_PAGES 128u
#define LEAST_RING_PAGES 16u
#define MOST_PAGES 8192u         // of all rings
#define WAKE_PART 8u             // a reader is woken when such a part of a ring is full
#define MAX_RECORD_BYTES 256u
#define MOST_WAITING 8u          // for one core; of more is not told who has it
#define FIRST_PID_NAMESPACE 4026531836u  // the number of its file, the same on all machines
#define IN_INTERRUPT 0x58u       // flags of a tracepoint: a hard, soft or unmaskable interrupt

// A record, copied out of its ring. All but samples end with the time.
typedef union record_s {
  struct perf_event_header header;
  struct {
    struct perf_event_header header;
    uint32_t other_process, other_thread;
    uint32_t process, thread;
    uint64_t time_ns;
  } switched;
  struct {
    struct perf_event_header header;
    uint32_t process, thread;  // who ran: the waker
    uint64_t time_ns;
    uint32_t size;
    uint8_t fields[];
  } waking;
  struct {
    struct perf_event_header header;
    uint64_t id, count;
  } lost;
  uint8_t bytes[MAX_RECORD_BYTES];
} record_t;

typedef struct ring_s {
  int switches, wakings;               // files; -1: there is none
  struct perf_event_mmap_page* page;   // and the ring behind it
  uint32_t waiting[MOST_WAITING];      // threads of this process whose core this was
  uint32_t waiting_count;
  // While it is read: up to where, the next record and its time.
  uint64_t head, tail;
  int64_t time_ns;
  record_t record;
} ring_t;

// Where the tracepoint's fields lie in a sample.
typedef struct tracepoint_s {
  uint64_t id;
  uint32_t flags_at, thread_at;
} tracepoint_t;

struct leat_cpu_switches_s {
  ring_t* rings;
  struct pollfd* polls;  // of the rings, and behind them |interrupt|
  size_t count;
  uint32_t waiting_count;  // of all rings
  int interrupt;         // tells the thread that the watch ends
  leat_thread_t thread;  // that waits for records
  bool has_thread;
  leat_cpu_switches_fn_t fn;
  uint32_t process;
  size_t page_bytes, ring_bytes;
  tracepoint_t tracepoint;
};

// ---- Opening ------------------------------------------------------------------------------------

// The number behind |key| on the line of |text| that has |field|.
static bool find_number(const char* text, const char* field, const char* key, uint64_t* out) {
  const char* at = strstr(text, field);
  at = at ? strstr(at, key) : NULL;
  return at && sscanf(at + strlen(key), "%lu", out) == 1;
}

// Reads how the system describes the tracepoint; false where it does not, or not as expected.
static bool read_format(const char* tracefs, tracepoint_t* out) {
  char path[96], text[4096];
  uint64_t flags_at, flags_bytes, thread_at, thread_bytes;
  snprintf(path, sizeof path, "%s/events/sched/sched_waking/format", tracefs);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return false;
  text[size] = 0;
  if (!find_number(text, "ID:", "ID:", &out->id) ||
      !find_number(text, " common_flags;", "offset:", &flags_at) ||
      !find_number(text, " common_flags;", "size:", &flags_bytes) ||
      !find_number(text, " pid;", "offset:", &thread_at) ||
      !find_number(text, " pid;", "size:", &thread_bytes)) {
    return false;
  }
  if (flags_bytes != 1 || thread_bytes != 4 || flags_at > MAX_RECORD_BYTES ||
      thread_at > MAX_RECORD_BYTES) {
    return false;
  }
  out->flags_at = (uint32_t)flags_at;
  out->thread_at = (uint32_t)thread_at;
  return true;
}

// Finds the tracepoint; its id stays 0 where wakings cannot be had.
static void find_tracepoint(tracepoint_t* out) {
  struct stat space;
  *out = (tracepoint_t){0};
  if (stat("/proc/self/ns/pid", &space) || space.st_ino != FIRST_PID_NAMESPACE) return;
  if (!read_format("/sys/kernel/tracing", out) && !read_format("/sys/kernel/debug/tracing", out)) {
    *out = (tracepoint_t){0};
  }
}

static struct perf_event_attr make_attributes(const leat_cpu_switches_t* switches) {
  struct perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.sample_id_all = 1;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.watermark = 1;
  attributes.wakeup_watermark = (uint32_t)(switches->ring_bytes / WAKE_PART);
  return attributes;
}

static int open_event(struct perf_event_attr* attributes, int core) {
  return (int)syscall(SYS_perf_event_open, attributes, -1, core, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_switches(const leat_cpu_switches_t* switches, int core) {
  struct perf_event_attr attributes = make_attributes(switches);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.context_switch = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return open_event(&attributes, core);
}

static int open_wakings(const leat_cpu_switches_t* switches, int core, int into) {
  struct perf_event_attr attributes = make_attributes(switches);
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = switches->tracepoint.id;
  attributes.sample_type |= PERF_SAMPLE_RAW;
  attributes.sample_period = 1;
  const int file = open_event(&attributes, core);
  if (file >= 0 && ioctl(file, PERF_EVENT_IOC_SET_OUTPUT, into)) {
    close(file);
    return -1;
  }
  return file;
}

// Adds the ring of a core. A core that is switched off has none. False where the watch is not to be
// had, or not of this core, so that it would be told wrongly who runs there.
static bool add_core(leat_cpu_switches_t* switches, int core) {
  ring_t ring = {.switches = open_switches(switches, core), .wakings = -1};
  if (ring.switches < 0) return errno == ENODEV;
  void* pages = mmap(NULL, switches->page_bytes + switches->ring_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED, ring.switches, 0);
  if (pages == MAP_FAILED) {
    close(ring.switches);
    return false;
  }
  ring.page = pages;
  if (switches->tracepoint.id) {
    ring.wakings = open_wakings(switches, core, ring.switches);
    // Without one core's wakings all are left out: who wakes on it would seem to do nothing.
    if (ring.wakings < 0) switches->tracepoint.id = 0;
  }
  switches->polls[switches->count] = (struct pollfd){.fd = ring.switches, .events = POLLIN};
  switches->rings[switches->count++] = ring;
  return true;
}

// Whether the files are a small part of those that the process may open.
static bool has_room_for_files(size_t cores) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && 2 * cores + 1 <= limit.rlim_cur / 4;
}

// Waits for records and has them read, until the watch ends.
static void wait_for_records(void* data) {
  leat_cpu_switches_t* switches = data;
  struct pollfd* polls = switches->polls;
  while (!polls[switches->count].revents) {
    if (poll(polls, switches->count + 1, -1) < 0) continue;  // a signal came
    for (size_t i = 0; i < switches->count; ++i) {
      if (polls[i].revents & ~POLLIN) polls[i].fd = -1;  // the core was switched off
    }
    if (!polls[switches->count].revents) switches->fn();
  }
}

leat_cpu_switches_t* leat_cpu_switches_begin(leat_cpu_switches_fn_t fn) {
  const long cores = sysconf(_SC_NPROCESSORS_CONF);
  if (cores <= 0 || !has_room_for_files((size_t)cores)) return NULL;
  leat_cpu_switches_t* switches = calloc(1, sizeof *switches);
  if (!switches) return NULL;
  size_t pages = MOST_RING_PAGES;
  while (pages > LEAST_RING_PAGES && pages * (size_t)cores > MOST_PAGES) pages /= 2;
  switches->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  switches->ring_bytes = pages * switches->page_bytes;
  switches->process = (uint32_t)getpid();
  switches->interrupt = eventfd(0, EFD_CLOEXEC);
  switches->rings = calloc((size_t)cores, sizeof *switches->rings);
  switches->polls = calloc((size_t)cores + 1, sizeof *switches->polls);
  bool ok = switches->interrupt >= 0 && switches->rings && switches->polls;
  if (ok) find_tracepoint(&switches->tracepoint);
  for (int core = 0; core < cores && ok; ++core) ok = add_core(switches, core);
  if (ok && switches->count) {
    switches->fn = fn;
    switches->polls[switches->count] =
        (struct pollfd){.fd = switches->interrupt, .events = POLLIN};
    leat_status_t status =
        leat_thread_start("leat-switches", wait_for_records, switches, &switches->thread);
    switches->has_thread = !status;
    leat_status_free(status);
  }
  if (switches->has_thread) return switches;
  leat_cpu_switches_end(switches);
  return NULL;
}

static void close_all(leat_cpu_switches_t* switches) {
  for (size_t i = 0; i < switches->count; ++i) {
    if (switches->rings[i].wakings >= 0) close(switches->rings[i].wakings);
    close(switches->rings[i].switches);
  }
  if (switches->interrupt >= 0) close(switches->interrupt);
  free(switches->rings);
  free(switches->polls);
  free(switches);
}

void leat_cpu_switches_end(leat_cpu_switches_t* switches) {
  const uint64_t one = 1;
  if (!switches) return;
  if (switches->has_thread) {
    while (write(switches->interrupt, &one, sizeof one) < 0 && errno == EINTR) {
    }
    leat_thread_join(switches->thread);
  }
  for (size_t i = 0; i < switches->count; ++i) {
    munmap(switches->rings[i].page, switches->page_bytes + switches->ring_bytes);
  }
  close_all(switches);
}

void leat_cpu_switches_forget(leat_cpu_switches_t* switches) {
  if (switches) close_all(switches);
}

// ---- Reading ------------------------------------------------------------------------------------

// The kernel's number of a process that is gone, or that this one's namespace does not have, is -1.
static uint32_t known(uint32_t number) { return (int32_t)number > 0 ? number : 0; }

static void forget_waiting(leat_cpu_switches_t* switches) {
  for (size_t i = 0; i < switches->count; ++i) switches->rings[i].waiting_count = 0;
  switches->waiting_count = 0;
}

// The thread has a core again, and so waits for none.
static void end_waiting(leat_cpu_switches_t* switches, uint32_t thread) {
  for (size_t i = 0; i < switches->count && switches->waiting_count; ++i) {
    ring_t* ring = &switches->rings[i];
    for (uint32_t k = 0; k < ring->waiting_count; ++k) {
      if (ring->waiting[k] != thread) continue;
      ring->waiting[k] = ring->waiting[--ring->waiting_count];
      --switches->waiting_count;
      break;
    }
  }
}

// A thread leaves the core of |ring| for another one, which those learn that wait for the core.
static void take_switch(leat_cpu_switches_t* switches, ring_t* ring, leat_cpu_event_fn_t fn,
                        void* data) {
  const record_t* record = &ring->record;
  const uint16_t misc = record->header.misc;
  const bool is_ours = record->switched.process == switches->process;
  leat_cpu_event_t event = {.time_ns = ring->time_ns,
                             .kind = LEAT_CPU_NEXT,
                             .other_process = known(record->switched.other_process),
                             .other_thread = known(record->switched.other_thread)};
  if (!(misc & PERF_RECORD_MISC_SWITCH_OUT)) {
    if (is_ours) end_waiting(switches, record->switched.thread);
    return;
  }
  for (uint32_t i = 0; i < ring->waiting_count; ++i) {
    event.thread = ring->waiting[i];
    if (event.thread != event.other_thread) fn(data, &event);
  }
  if (!is_ours || !(misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)) return;
  event.kind = LEAT_CPU_TAKEN;
  event.thread = record->switched.thread;
  if (ring->waiting_count == MOST_WAITING) return;
  ring->waiting[ring->waiting_count++] = event.thread;
  ++switches->waiting_count;
  fn(data, &event);
}

static void take_waking(const leat_cpu_switches_t* switches, const record_t* record,
                        leat_cpu_event_fn_t fn, void* data) {
  const tracepoint_t* t = &switches->tracepoint;
  const size_t fields_at = offsetof(record_t, waking.fields), size = record->header.size;
  if (!t->id || size < fields_at + t->thread_at + sizeof(uint32_t) ||
      size <= fields_at + t->flags_at) {
    return;
  }
  const bool by_interrupt = record->waking.fields[t->flags_at] & IN_INTERRUPT;
  leat_cpu_event_t event = {.time_ns = (int64_t)record->waking.time_ns,
                             .kind = LEAT_CPU_WAKING,
                             .other_process = by_interrupt ? 0 : known(record->waking.process),
                             .other_thread = by_interrupt ? 0 : known(record->waking.thread)};
  memcpy(&event.thread, record->waking.fields + t->thread_at, sizeof event.thread);
  fn(data, &event);
}

static void copy_record(const leat_cpu_switches_t* switches, ring_t* ring, size_t size) {
  leat_perf_ring_copy(ring->page, switches->page_bytes, switches->ring_bytes, ring->tail,
                      &ring->record, size);
}

// Copies out the next record of the ring. Without one its time is the greatest there is.
static void fetch(const leat_cpu_switches_t* switches, ring_t* ring) {
  record_t* record = &ring->record;
  ring->time_ns = INT64_MAX;
  if (ring->tail >= ring->head) return;
  copy_record(switches, ring, sizeof record->header);
  const size_t size = record->header.size;
  if (size < sizeof record->header || size > sizeof *record) {  // never written by the system
    ring->tail = ring->head;
    return;
  }
  copy_record(switches, ring, size);
  ring->time_ns = 0;
  if (record->header.type == PERF_RECORD_SAMPLE) {
    ring->time_ns = (int64_t)record->waking.time_ns;
  } else if (size >= sizeof record->header + sizeof ring->time_ns) {
    memcpy(&ring->time_ns, record->bytes + size - sizeof ring->time_ns, sizeof ring->time_ns);
  }
}

// The ring whose next record is the oldest.
static ring_t* find_oldest(const leat_cpu_switches_t* switches) {
  ring_t* oldest = &switches->rings[0];
  for (size_t i = 1; i < switches->count; ++i) {
    if (switches->rings[i].time_ns < oldest->time_ns) oldest = &switches->rings[i];
  }
  return oldest;
}

uint64_t leat_cpu_switches_read(leat_cpu_switches_t* switches, int64_t until_ns,
                                 leat_cpu_event_fn_t fn, void* data) {
  uint64_t lost = 0;
  bool is_full = false;
  for (size_t i = 0; i < switches->count; ++i) {
    ring_t* ring = &switches->rings[i];
    ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    ring->tail = ring->page->data_tail;
    is_full |= switches->ring_bytes - (ring->head - ring->tail) < MAX_RECORD_BYTES;
    fetch(switches, ring);
  }
  for (;;) {
    ring_t* ring = find_oldest(switches);
    const record_t* record = &ring->record;
    if (ring->time_ns > until_ns) break;
    if (record->header.type == PERF_RECORD_SWITCH_CPU_WIDE &&
        record->header.size >= sizeof record->switched) {
      take_switch(switches, ring, fn, data);
    } else if (record->header.type == PERF_RECORD_SAMPLE) {
      take_waking(switches, record, fn, data);
    } else if (record->header.type == PERF_RECORD_LOST) {
      lost += record->lost.count;
    }
    ring->tail += record->header.size;
    fetch(switches, ring);
  }
  for (size_t i = 0; i < switches->count; ++i) {
    ring_t* ring = &switches->rings[i];
    __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
  }
  if (lost || is_full) forget_waiting(switches);
  return lost ? lost : is_full;
}

#else

leat_cpu_switches_t* leat_cpu_switches_begin(leat_cpu_switches_fn_t fn) { return NULL; }
uint64_t leat_cpu_switches_read(leat_cpu_switches_t* switches, int64_t until_ns,
                                 leat_cpu_event_fn_t fn, void* data) {
  return 0;
}
void leat_cpu_switches_end(leat_cpu_switches_t* switches) {}
void leat_cpu_switches_forget(leat_cpu_switches_t* switches) {}

#endif

// Linux: an event that counts nothing and records the switches of its thread. The ring is a page
// with two positions, which only grow, and 16 pages of records behind it. The system advances the
// head; this side the tail, so that the system may write there again. A record may begin at the end
// of the ring and go on at its beginning, so each is copied out.
//
// When the ring is full the system drops records, and says how many in a record of its own, but
// only before the next one that it can write. A time off the core must not go on over such a gap,
// in which the thread may have come back and left again: it is forgotten. A ring that is nearly
// full when it is read counts as one that has lost something too.
#define _GNU_SOURCE
#include "base/thread_switches.h"

#if defined(__linux__)

#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/posix/perf_ring.h"

#define RING_PAGES 16u
#define MAX_RECORD_BYTES 64u

struct leat_thread_switches_s {
  int file;
  struct perf_event_mmap_page* page;  // and the ring behind it
  size_t page_bytes;
  int64_t left_ns;  // when the thread left the core; 0: it is on one
  int64_t came_ns;  // when it came to the core on which it is; 0: it is on none, or nobody knows
  int32_t core;
  bool was_preempted;
};

// A record: of a switch it has the fields that |sample_type| asks for, in their order.
typedef union record_s {
  struct perf_event_header header;
  struct {
    struct perf_event_header header;
    uint32_t process, thread;
    uint64_t time_ns;
    uint32_t core, reserved;
  } switched;
  struct {
    struct perf_event_header header;
    uint64_t id, count;
  } lost;
  uint8_t bytes[MAX_RECORD_BYTES];
} record_t;

static int open_event(void) {
  struct perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.context_switch = 1;
  attributes.sample_id_all = 1;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

leat_thread_switches_t* leat_thread_switches_begin(void) {
  leat_thread_switches_t* switches = calloc(1, sizeof *switches);
  if (!switches) return NULL;
  switches->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  switches->file = open_event();
  void* pages = MAP_FAILED;
  if (switches->file >= 0) {
    pages = mmap(NULL, (1 + RING_PAGES) * switches->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                 switches->file, 0);
  }
  if (pages == MAP_FAILED) {
    if (switches->file >= 0) close(switches->file);
    free(switches);
    return NULL;
  }
  switches->page = pages;
  switches->core = sched_getcpu();
  switches->came_ns = switches->core < 0 ? 0 : leat_clock_now_ns();
  return switches;
}

static void tell(const leat_thread_switches_t* switches, int64_t begin_ns, int64_t end_ns,
                 int32_t core, leat_thread_switches_fn_t fn, void* data) {
  const leat_thread_switch_t told = {begin_ns, end_ns, core, core < 0 && switches->was_preempted};
  if (begin_ns > 0 && begin_ns <= end_ns) fn(data, &told);
}

// One record: the thread leaves a core, or comes back to one, or records were lost.
static void take(leat_thread_switches_t* switches, const record_t* record,
                 leat_thread_switches_fn_t fn, void* data) {
  const uint16_t misc = record->header.misc;
  const int64_t time_ns = (int64_t)record->switched.time_ns;
  if (record->header.type == PERF_RECORD_LOST) switches->left_ns = switches->came_ns = 0;
  if (record->header.type != PERF_RECORD_SWITCH) return;
  if (misc & PERF_RECORD_MISC_SWITCH_OUT) {
    tell(switches, switches->came_ns, time_ns, switches->core, fn, data);
    switches->came_ns = 0;
    switches->left_ns = time_ns;
    switches->was_preempted = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
  } else {
    tell(switches, switches->left_ns, time_ns, -1, fn, data);
    switches->left_ns = 0;
    switches->came_ns = time_ns;
    switches->core = (int32_t)record->switched.core;
  }
}

static void copy_record(const leat_thread_switches_t* switches, uint64_t position, record_t* out,
                        size_t size) {
  leat_perf_ring_copy(switches->page, switches->page_bytes, RING_PAGES * switches->page_bytes,
                      position, out, size);
}

uint64_t leat_thread_switches_read(leat_thread_switches_t* switches, int64_t until_ns, bool is_end,
                                   leat_thread_switches_fn_t fn, void* data) {
  if (!switches) return 0;
  const uint64_t head = __atomic_load_n(&switches->page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = switches->page->data_tail, lost = 0;
  const bool is_full = RING_PAGES * switches->page_bytes - (head - tail) < MAX_RECORD_BYTES;
  record_t record;
  while (tail < head) {
    copy_record(switches, tail, &record, sizeof record.header);
    const size_t size = record.header.size;
    if (size < sizeof record.header) {  // never written by the system
      tail = head;
      break;
    }
    copy_record(switches, tail, &record, size < sizeof record ? size : sizeof record);
    if (record.header.type == PERF_RECORD_SWITCH &&
        (int64_t)record.switched.time_ns > until_ns) {
      break;
    }
    if (record.header.type == PERF_RECORD_LOST) lost += record.lost.count;
    take(switches, &record, fn, data);
    tail += size;
  }
  __atomic_store_n(&switches->page->data_tail, tail, __ATOMIC_RELEASE);
  if (is_full) switches->left_ns = switches->came_ns = 0;
  if (is_end) {
    tell(switches, switches->left_ns, until_ns, -1, fn, data);
    tell(switches, switches->came_ns, until_ns, switches->core, fn, data);
    switches->left_ns = switches->came_ns = 0;
  }
  return lost ? lost : is_full;
}

void leat_thread_switches_end(leat_thread_switches_t* switches) {
  if (!switches) return;
  munmap(switches->page, (1 + RING_PAGES) * switches->page_bytes);
  close(switches->file);
  free(switches);
}

#else

leat_thread_switches_t* leat_thread_switches_begin(void) { return NULL; }
uint64_t leat_thread_switches_read(leat_thread_switches_t* switches, int64_t until_ns, bool is_end,
                                   leat_thread_switches_fn_t fn, void* data) {
  return 0;
}
void leat_thread_switches_end(leat_thread_switches_t* switches) {}

#endif

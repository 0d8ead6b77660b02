// Linux: an event that counts nothing and records the switches of its thread. The ring is a page
// with two positions, which only grow, and 16 pages of records behind it. The system advances the
// head; this side the tail, so that the system may write there again. A record may begin at the end
// of the ring and go on at its beginning, but a switch's 32 bytes divide the ring's size; other
// records (that some were lost) are passed over by their size.
#define _GNU_SOURCE
#include "base/thread_switches.h"

#if defined(__linux__)

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_PAGES 16u

struct leat_thread_switches_s {
  int file;
  struct perf_event_mmap_page* page;  // and the ring behind it
  size_t page_bytes;
  int64_t left_ns;  // when the thread left the core; 0: it is on one
  bool was_preempted;
};

// A record of a switch: the fields that |sample_type| asks for, in their order.
typedef struct switch_record_s {
  struct perf_event_header header;
  uint32_t process, thread;
  uint64_t time_ns;
} switch_record_t;

static int open_event(void) {
  struct perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.context_switch = 1;
  attributes.sample_id_all = 1;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
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
  return switches;
}

// One record: the thread leaves a core, or comes back to one.
static void take(leat_thread_switches_t* switches, const switch_record_t* record,
                 leat_thread_switches_fn_t fn, void* data) {
  if (record->header.type != PERF_RECORD_SWITCH) return;
  if (record->header.misc & PERF_RECORD_MISC_SWITCH_OUT) {
    switches->left_ns = (int64_t)record->time_ns;
    switches->was_preempted = record->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
  } else if (switches->left_ns) {
    fn(data, switches->left_ns, (int64_t)record->time_ns, switches->was_preempted);
    switches->left_ns = 0;
  }
}

void leat_thread_switches_read(leat_thread_switches_t* switches, int64_t now_ns,
                               leat_thread_switches_fn_t fn, void* data) {
  if (!switches) return;
  const char* ring = (const char*)switches->page + switches->page_bytes;
  const size_t ring_bytes = RING_PAGES * switches->page_bytes;
  const uint64_t head = __atomic_load_n(&switches->page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = switches->page->data_tail;
  while (tail < head) {
    const size_t at = (size_t)(tail % ring_bytes);
    const struct perf_event_header* header = (const void*)(ring + at);
    if (header->size < sizeof *header) break;  // never written by the system
    if (header->size >= sizeof(switch_record_t) && at + header->size <= ring_bytes) {
      take(switches, (const switch_record_t*)header, fn, data);
    }
    tail += header->size;
  }
  __atomic_store_n(&switches->page->data_tail, head, __ATOMIC_RELEASE);
  if (now_ns && switches->left_ns) {
    fn(data, switches->left_ns, now_ns, switches->was_preempted);
    switches->left_ns = 0;
  }
}

void leat_thread_switches_end(leat_thread_switches_t* switches) {
  if (!switches) return;
  munmap(switches->page, (1 + RING_PAGES) * switches->page_bytes);
  close(switches->file);
  free(switches);
}

#else

leat_thread_switches_t* leat_thread_switches_begin(void) { return NULL; }
void leat_thread_switches_read(leat_thread_switches_t* switches, int64_t now_ns,
                               leat_thread_switches_fn_t fn, void* data) {}
void leat_thread_switches_end(leat_thread_switches_t* switches) {}

#endif

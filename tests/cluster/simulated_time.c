// The queue of events, the threads that run what they bring, and the driver. The driver finds out
// that all other threads sleep from the kernel: a thread that was woken is not asleep, and a thread
// that ran in between has switched more often. Two looks at all threads between which nobody has
// switched are therefore a moment at which all slept, and only the driver can wake them, because
// nothing in a simulation waits for real time to pass.
#include "cluster/simulated_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sync.h"
#include "base/test.h"
#include "base/thread.h"

#define MAX_THREADS 509
#define HOUR_MS 3600000

typedef struct event_s {
  struct event_s* next;
  int64_t due_ms;
  uint64_t order;
  void (*fn)(void* data);  // on the driver, with the lock
  void* data;
} event_t;

typedef struct errand_s {
  struct errand_s* next;
  void (*fn)(void* data);
  void* data;
} errand_t;

static leat_mutex_t mutex;  // guards what follows
static leat_condition_t changed, has_errand;
static event_t* events;     // by time
static errand_t* first_errand;
static int errands, waiting_errands;  // that have not returned, and not begun
static int idle_threads;
static int64_t now_ms;
static void (*idle)(void* data);
static void* idle_data;

void simulated_lock(void) { leat_mutex_lock(&mutex); }
void simulated_unlock(void) { leat_mutex_unlock(&mutex); }
void simulated_wait(void) { leat_condition_wait(&changed, &mutex); }
void simulated_notify(void) { leat_condition_notify_all(&changed); }
int64_t simulated_now_ms(void) { return now_ms; }

// ---- Events and errands -------------------------------------------------------------------------

void simulated_add(int64_t delay_ms, uint64_t order, void (*fn)(void* data), void* data) {
  event_t* event = malloc(sizeof *event);
  *event = (event_t){.due_ms = now_ms + delay_ms, .order = order, .fn = fn, .data = data};
  event_t** place = &events;
  while (*place && ((*place)->due_ms < event->due_ms ||
                    ((*place)->due_ms == event->due_ms && (*place)->order <= order))) {
    place = &(*place)->next;
  }
  event->next = *place;
  *place = event;
}

// The threads that run errands live on, because the driver looks at all threads before each event,
// and knows those best that it has seen before.
static void run_errands(void* unused) {
  leat_mutex_lock(&mutex);
  for (;;) {
    ++idle_threads;
    while (!first_errand) leat_condition_wait(&has_errand, &mutex);
    --idle_threads;
    --waiting_errands;
    errand_t* errand = first_errand;
    first_errand = errand->next;
    leat_mutex_unlock(&mutex);
    errand->fn(errand->data);
    free(errand);
    leat_mutex_lock(&mutex);
    --errands;
    leat_condition_notify_all(&changed);
  }
}

void simulated_spawn(void (*fn)(void* data), void* data) {
  errand_t* errand = malloc(sizeof *errand);
  *errand = (errand_t){.next = first_errand, .fn = fn, .data = data};
  first_errand = errand;
  ++errands;
  if (idle_threads >= ++waiting_errands) {
    leat_condition_notify_one(&has_errand);
    return;
  }
  leat_thread_t thread;
  LEAT_EXPECT_OK(leat_thread_start("simulated", run_errands, NULL, &thread));
  leat_thread_detach(thread);
}

static void start_errand(void* data) {
  errand_t errand = *(errand_t*)data;
  free(data);
  simulated_spawn(errand.fn, errand.data);
}

void simulated_after(int64_t delay_ms, void (*fn)(void* data), void* data) {
  errand_t* errand = malloc(sizeof *errand);
  *errand = (errand_t){.fn = fn, .data = data};
  leat_mutex_lock(&mutex);
  simulated_add(delay_ms, 3, start_errand, errand);
  leat_mutex_unlock(&mutex);
}

// ---- The driver ---------------------------------------------------------------------------------

// Reads what the kernel tells of a thread, from a file that stays open for the next time. false
// where the thread has just ended; the file of another one of that number is opened then.
static bool read_status(long id, char out_text[4096]) {
  static struct {
    long id;
    int fd;
  } known[MAX_THREADS];
  char path[64];
  const int place = (int)(id % MAX_THREADS);
  if (known[place].id != id) {
    if (known[place].id) close(known[place].fd);
    snprintf(path, sizeof path, "/proc/self/task/%ld/status", id);
    known[place].id = id;
    known[place].fd = open(path, O_RDONLY | O_CLOEXEC);
  }
  const ssize_t size = pread(known[place].fd, out_text, 4095, 0);
  out_text[size > 0 ? size : 0] = '\0';
  if (size > 0) return true;
  close(known[place].fd);
  known[place].id = 0;
  return false;
}

// Sums what the kernel tells of all threads but this one. false where one of them does not sleep.
static bool look_at_threads(uint64_t* out_switches) {
  static const char kState[] = "\nState:\t", kSwitches[] = "\nvoluntary_ctxt_switches:\t";
  static DIR* folder;
  const long self = syscall(SYS_gettid);
  bool all_sleep = true;
  if (folder) {
    rewinddir(folder);
  } else {
    folder = opendir("/proc/self/task");
  }
  *out_switches = 0;
  for (struct dirent* entry; all_sleep && (entry = readdir(folder));) {
    char text[4096];
    const long id = atol(entry->d_name);
    if (id == 0 || id == self) continue;
    if (!read_status(id, text)) continue;
    const char* state = strstr(text, kState);
    const char* switches = strstr(text, kSwitches);
    if (!state || !switches) continue;
    all_sleep = state[sizeof kState - 1] == 'S';
    *out_switches += strtoull(switches + sizeof kSwitches - 1, NULL, 10) + (uint64_t)id;
  }
  return all_sleep;
}

static void wait_until_all_sleep(void) {
  uint64_t before, after;
  while (!look_at_threads(&before) || !look_at_threads(&after) || before != after) usleep(20);
}

static void drive(void* unused) {
  prctl(PR_SET_TIMERSLACK, 1000);  // ns by which a sleep may last longer
  for (;;) {
    wait_until_all_sleep();
    leat_mutex_lock(&mutex);
    event_t* event = events;
    if (event) {
      events = event->next;
      now_ms = event->due_ms;
      event->fn(event->data);
      free(event);
      leat_condition_notify_all(&changed);
    } else if (idle) {
      now_ms += HOUR_MS;
      simulated_spawn(idle, idle_data);
    }
    const bool is_off = !event && !idle;
    leat_mutex_unlock(&mutex);
    if (is_off) usleep(200);
  }
}

void simulated_set_idle(void (*fn)(void* data), void* data) {
  leat_mutex_lock(&mutex);
  idle = fn;
  idle_data = data;
  leat_mutex_unlock(&mutex);
}

void simulated_drain(void) {
  leat_mutex_lock(&mutex);
  idle = NULL;
  while (events || errands) leat_condition_wait(&changed, &mutex);
  leat_mutex_unlock(&mutex);
}

void simulated_time_begin(void) {
  static bool is_driven;
  leat_thread_t driver;
  if (is_driven) {
    simulated_drain();
  } else {
    leat_mutex_initialize(&mutex);
    leat_condition_initialize(&changed);
    leat_condition_initialize(&has_errand);
    LEAT_EXPECT_OK(leat_thread_start("driver", drive, NULL, &driver));
    leat_thread_detach(driver);
  }
  is_driven = true;
  leat_mutex_lock(&mutex);
  now_ms = 0;
  leat_mutex_unlock(&mutex);
}

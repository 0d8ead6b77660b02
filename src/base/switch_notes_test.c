// Who took a core and who woke a thread: first the matching, on events that are made here, then
// what the recorder tells of real threads. The system lets a process with rights see all cores;
// where it does not, the cases that need it skip. Nothing is expected of how long anything takes,
// only that what the test has brought about (a neighbour on the same core, a writer into a pipe) is
// named.
#define _GNU_SOURCE
#include "base/switch_notes.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/test.h"
#include "base/thread.h"
#include "base/thread_switches.h"

#define FIRST_PID_NAMESPACE 4026531836u
#define BUSY_NS INT64_C(300000000)
#define MOST_BUSY_NS INT64_C(15000000000)  // with the shorter times before, half a minute
#define MOST_TRIES 100
#define ROUNDS 15000
#define BURST 300  // rounds between two pauses

// ---- Matching -----------------------------------------------------------------------------------

static leat_switch_notes_t notes;
static leat_off_core_piece_t pieces[128];
static int piece_count;

static void note(int64_t time_ns, leat_cpu_event_kind_t kind, uint32_t other) {
  const leat_cpu_event_t event = {.time_ns = time_ns, .kind = kind, .thread = 7,
                                   .other_process = other, .other_thread = other};
  assert_true(leat_switch_notes_add(&notes, &event));
}

static void keep(void* unused, const leat_off_core_piece_t* piece) {
  assert_true(piece_count < 128);
  pieces[piece_count++] = *piece;
}

static void tell(int64_t begin_ns, int64_t end_ns, bool was_preempted) {
  piece_count = 0;
  leat_switch_notes_tell(&notes, begin_ns, end_ns, was_preempted, keep, NULL);
}

static void expect_piece(int i, leat_off_core_t why, int64_t begin_ns, int64_t end_ns,
                         uint32_t other) {
  assert_true(i < piece_count);
  assert_int_equal(pieces[i].why, why);
  assert_int_equal(pieces[i].begin_ns, begin_ns);
  assert_int_equal(pieces[i].end_ns, end_ns);
  assert_int_equal(pieces[i].by ? pieces[i].by->other_thread : 0, other);
}

// Notes come core by core. A taker's is the one that is nearest to the moment, and none that is of
// another switch.
static void who_took_a_core_is_found_by_time(void** state) {
  static const struct {
    int64_t begin_ns;
    uint32_t other;
  } kCases[] = {{100300, 1}, {99000, 1},  {900800, 2}, {901900, 3},
                {120000, 0}, {300000, 0}, {600000, 0}};
  notes.count = 0;
  note(900000, LEAT_CPU_TAKEN, 2);
  note(902000, LEAT_CPU_TAKEN, 3);
  note(300000, LEAT_CPU_WAKING, 4);
  note(600000, LEAT_CPU_NEXT, 5);
  note(100000, LEAT_CPU_TAKEN, 1);
  leat_switch_notes_sort(&notes);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    tell(kCases[i].begin_ns, kCases[i].begin_ns + 50, true);
    assert_int_equal(piece_count, 1);
    expect_piece(0, LEAT_OFF_CORE_PREEMPTED, kCases[i].begin_ns, kCases[i].begin_ns + 50,
                 kCases[i].other);
  }
  leat_switch_notes_forget(&notes, 300000);
  assert_int_equal(notes.count, 4);
  tell(100300, 100400, true);
  expect_piece(0, LEAT_OFF_CORE_PREEMPTED, 100300, 100400, 0);
}

static void all_who_had_the_core_are_told(void** state) {
  notes.count = 0;
  note(100000, LEAT_CPU_TAKEN, 1);
  note(120000, LEAT_CPU_NEXT, 2);
  note(500000, LEAT_CPU_NEXT, 0);
  note(600000, LEAT_CPU_NEXT, 3);
  note(900000, LEAT_CPU_NEXT, 4);
  tell(100200, 700000, true);
  assert_int_equal(piece_count, 4);
  expect_piece(0, LEAT_OFF_CORE_PREEMPTED, 100200, 120000, 1);
  expect_piece(1, LEAT_OFF_CORE_PREEMPTED, 120000, 500000, 2);
  expect_piece(2, LEAT_OFF_CORE_PREEMPTED, 500000, 600000, 0);
  expect_piece(3, LEAT_OFF_CORE_PREEMPTED, 600000, 700000, 3);
  // Where the first is not known, those behind it say nothing: something is missing.
  tell(110000, 700000, true);
  assert_int_equal(piece_count, 1);
  expect_piece(0, LEAT_OFF_CORE_PREEMPTED, 110000, 700000, 0);
}

static void many_who_had_the_core_end_in_nobody(void** state) {
  notes.count = 0;
  note(1000000, LEAT_CPU_TAKEN, 1);
  for (int i = 1; i < 100; ++i) note(1000000 + i * 1000, LEAT_CPU_NEXT, 1 + (uint32_t)i);
  tell(1000000, 2000000, true);
  assert_int_equal(piece_count, 65);
  expect_piece(63, LEAT_OFF_CORE_PREEMPTED, 1063000, 1064000, 64);
  expect_piece(64, LEAT_OFF_CORE_PREEMPTED, 1064000, 2000000, 0);
}

static void a_sleep_ends_with_the_waking(void** state) {
  notes.count = 0;
  note(100000, LEAT_CPU_WAKING, 3);
  note(300000, LEAT_CPU_WAKING, 4);
  tell(200000, 350000, false);
  assert_int_equal(piece_count, 2);
  expect_piece(0, LEAT_OFF_CORE_ASLEEP, 200000, 300000, 4);
  expect_piece(1, LEAT_OFF_CORE_READY, 300000, 350000, 0);
  tell(350000, 400000, false);
  assert_int_equal(piece_count, 1);
  expect_piece(0, LEAT_OFF_CORE_ASLEEP, 350000, 400000, 0);
}

static void without_notes_a_time_is_told_whole(void** state) {
  piece_count = 0;
  leat_switch_notes_tell(NULL, 200000, 350000, true, keep, NULL);
  leat_switch_notes_tell(NULL, 400000, 450000, false, keep, NULL);
  assert_int_equal(piece_count, 2);
  expect_piece(0, LEAT_OFF_CORE_PREEMPTED, 200000, 350000, 0);
  expect_piece(1, LEAT_OFF_CORE_ASLEEP, 400000, 450000, 0);
}

static void full_notes_are_forgotten(void** state) {
  const leat_cpu_event_t event = {.time_ns = 1, .thread = 7};
  notes.count = 0;
  for (int i = 0; i < LEAT_SWITCH_NOTES; ++i) note(i, LEAT_CPU_TAKEN, 1);
  assert_false(leat_switch_notes_add(&notes, &event));
  assert_int_equal(notes.count, 1);
}

static void a_value_holds_who_and_why(void** state) {
  const int64_t value = leat_off_core_value(LEAT_OFF_CORE_READY, 4194303, 4194302);
  assert_true(value > 0);
  assert_int_equal(leat_off_core_why(value), LEAT_OFF_CORE_READY);
  assert_int_equal(leat_off_core_process(value), 4194303);
  assert_int_equal(leat_off_core_thread(value), 4194302);
}

// ---- Real threads -------------------------------------------------------------------------------

static void read_nothing(void) {}

static void need_rights(void) {
  leat_cpu_switches_t* cores = leat_cpu_switches_begin(read_nothing);
  if (!cores) {
    print_message("the cores may not be watched here\n");
    skip();
  }
  leat_cpu_switches_end(cores);
}

// Wakings need the tracepoint, and the numbers of the whole machine.
static void need_wakings(void) {
  struct stat space;
  need_rights();
  if (stat("/proc/self/ns/pid", &space) || space.st_ino != FIRST_PID_NAMESPACE ||
      (access("/sys/kernel/tracing/events/sched/sched_waking/format", R_OK) &&
       access("/sys/kernel/debug/tracing/events/sched/sched_waking/format", R_OK))) {
    print_message("wakings may not be watched here\n");
    skip();
  }
}

static leat_recording_t* stop(void) {
  leat_recording_t* recording = NULL;
  LEAT_EXPECT_OK(leat_recording_stop(&recording));
  assert_non_null(recording);
  return recording;
}

// How many times off a core there are for |why| and by |thread|, or, if it is -1, by anybody; the
// first is |*out_first|.
static int count(const leat_recording_t* recording, leat_off_core_t why, int64_t thread,
                 const leat_span_t** out_first) {
  int found = 0;
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    for (uint32_t i = 0; i < chunk->count; ++i) {
      const leat_span_t* span = &chunk->spans[i];
      if (span->kind != LEAT_SPAN_OFF_CORE || leat_off_core_why(span->value) != why) continue;
      if (thread >= 0 && leat_off_core_thread(span->value) != thread) continue;
      if (found++ == 0 && out_first) *out_first = span;
    }
  }
  return found;
}

static void mark(void) {
  const int64_t begin = leat_span_begin();
  if (begin) leat_span_end(begin, LEAT_SPAN_TASK, 0, 0);
}

static void compute(int64_t ns) {
  const int64_t begin = leat_span_begin(), until_ns = leat_clock_now_ns() + ns;
  while (leat_clock_now_ns() < until_ns) {
  }
  leat_span_end(begin, LEAT_SPAN_TASK, 0, 0);
}

static void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

// A process that computes on the core of this thread, until it is killed.
static pid_t start_neighbour(int core) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "neighbour");
  pin(core);
  for (;;) {
  }
}

// Computes beside the neighbour, for longer where others had the core meanwhile, until it was the
// neighbour who took it; |*out_span| is when, or NULL.
static leat_recording_t* record_beside(pid_t neighbour, const leat_span_t** out_span) {
  for (int64_t busy_ns = BUSY_NS;; busy_ns *= 2) {
    LEAT_EXPECT_OK(leat_recording_start(1 << 22));
    mark();  // from its first span on, a thread is watched
    compute(busy_ns);
    leat_recording_t* recording = stop();
    *out_span = NULL;
    if (count(recording, LEAT_OFF_CORE_PREEMPTED, neighbour, out_span) > 0) return recording;
    if (busy_ns > MOST_BUSY_NS) return recording;
    leat_recording_free(recording);
  }
}

static void who_takes_the_core_is_named(void** state) {
  cpu_set_t before;
  const leat_span_t* span;
  need_rights();
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  const int core = sched_getcpu();
  pin(core);
  const pid_t neighbour = start_neighbour(core);
  leat_recording_t* recording = record_beside(neighbour, &span);
  kill(neighbour, SIGKILL);
  assert_int_equal(waitpid(neighbour, NULL, 0), neighbour);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_non_null(span);
  assert_int_equal(leat_off_core_process(span->value), neighbour);
  assert_true(leat_string_view_equals(recording->names[span->name].name, "neighbour"));
  assert_true(leat_string_view_equals(recording->names[span->name].category, "preempted by"));
  leat_recording_free(recording);
}

static _Atomic(int64_t) reader_id;

static void read_pipe(void* ends) {
  char byte;
  mark();
  reader_id = leat_thread_id();
  const int64_t begin = leat_span_begin();
  assert_int_equal(read(((int*)ends)[0], &byte, 1), 1);
  leat_span_end(begin, LEAT_SPAN_TASK, 0, 1);
}

// Waits until the thread sleeps, as the system shows it.
static void await_sleep(void) {
  char path[64], text[256];
  for (;;) {
    leat_clock_sleep_ns(1000000);
    if (!reader_id) continue;
    snprintf(path, sizeof path, "/proc/self/task/%lld/stat", (long long)reader_id);
    FILE* file = fopen(path, "r");
    const size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[size] = 0;
    const char* name_end = strrchr(text, ')');
    if (name_end && name_end[1] && name_end[2] == 'S') return;
  }
}

// The reader's wait is none of the library's: only the system knows who ended it.
static void who_wakes_a_reader_of_a_pipe_is_named(void** state) {
  leat_thread_t thread;
  int ends[2];
  need_wakings();
  assert_int_equal(pipe(ends), 0);
  reader_id = 0;
  LEAT_EXPECT_OK(leat_recording_start(1 << 22));
  LEAT_EXPECT_OK(leat_thread_start("reader", read_pipe, ends, &thread));
  await_sleep();
  const int64_t before = leat_span_now();
  assert_int_equal(write(ends[1], "x", 1), 1);
  const int64_t after = leat_span_now();
  leat_thread_join(thread);
  leat_recording_t* recording = stop();
  const leat_span_t* span = NULL;
  assert_int_equal(count(recording, LEAT_OFF_CORE_ASLEEP, leat_thread_id(), &span), 1);
  assert_int_equal(leat_off_core_process(span->value), getpid());
  assert_true(leat_string_view_equals(recording->names[span->name].category, "woken by"));
  // The sleep ends within the write; two clocks are compared, which agree to some microseconds.
  const int64_t slack = (after - before) / 2 + (recording->end - recording->begin) / 100;
  assert_true(span->end >= before - slack && span->end <= after + slack);
  leat_recording_free(recording);
  close(ends[0]);
  close(ends[1]);
}

typedef struct players_s {
  int there[2], back[2];
} players_t;

static void play(void* data) {
  players_t* players = data;
  char byte;
  mark();
  for (int i = 0; i < ROUNDS; ++i) {
    if (read(players->there[0], &byte, 1) != 1 || write(players->back[1], &byte, 1) != 1) break;
  }
}

// Two threads send a byte to and fro, and sleep in between, at least two records a round for each
// thread. |pause_ns| after each burst lets the rings be read, even where the machine is busy.
static void play_rounds(int64_t pause_ns) {
  players_t players;
  leat_thread_t thread;
  char byte = 'x';
  assert_int_equal(pipe(players.there) | pipe(players.back), 0);
  LEAT_EXPECT_OK(leat_thread_start("player", play, &players, &thread));
  for (int i = 0; i < ROUNDS; ++i) {
    assert_int_equal(write(players.there[1], &byte, 1), 1);
    assert_int_equal(read(players.back[0], &byte, 1), 1);
    if (pause_ns && i % BURST == BURST - 1) leat_clock_sleep_ns(pause_ns);
  }
  leat_thread_join(thread);
  for (int i = 0; i < 2; ++i) {
    close(players.there[i]);
    close(players.back[i]);
  }
}

// The threads mark one span each, and hand in nothing before the end; the ring of a thread has room
// for the switches of 1365 rounds, so that most would be lost if nobody read it meanwhile. Where a
// busy machine gives the reader of the rings no core in time, it is tried again.
static void rings_are_read_while_the_recording_goes_on(void** state) {
  bool are_there = false;
  need_rights();
  for (int tries = 0; !are_there && tries < MOST_TRIES; ++tries) {
    LEAT_EXPECT_OK(leat_recording_start(1 << 24));
    mark();
    play_rounds(5000000);
    leat_recording_t* recording = stop();
    are_there = count(recording, LEAT_OFF_CORE_ASLEEP, -1, NULL) > ROUNDS / 2;
    leat_recording_free(recording);
  }
  assert_true(are_there);
}

static void count_event(void* data, const leat_cpu_event_t* event) { ++*(int64_t*)data; }

// Nobody reads the rings of the cores until they are full.
static void lost_records_are_counted(void** state) {
  int64_t events = 0;
  need_rights();
  leat_cpu_switches_t* cores = leat_cpu_switches_begin(read_nothing);
  play_rounds(0);
  assert_true(leat_cpu_switches_read(cores, leat_clock_now_ns(), count_event, &events) > 0);
  leat_cpu_switches_end(cores);
}

// The end of the last time off a core that is told. Neither such a time nor one on a core goes over
// the gap.
static void keep_latest(void* data, const leat_thread_switch_t* told) {
  int64_t* latest_ns = data;
  assert_true(told->begin_ns <= told->end_ns);
  if (told->end_ns > *latest_ns) *latest_ns = told->end_ns;
}

typedef struct gap_s {
  leat_thread_switches_t* switches;
  int wake[2];
  int64_t now_ns, latest_ns;
  uint64_t lost;
} gap_t;

// Sleeps, fills its ring, and reads it at the end: it is on a core then, and was before.
static void fill_ring(void* data) {
  gap_t* gap = data;
  char byte;
  gap->switches = leat_thread_switches_begin();
  reader_id = leat_thread_id();
  if (!gap->switches) return;
  assert_int_equal(read(gap->wake[0], &byte, 1), 1);
  play_rounds(0);
  gap->now_ns = leat_clock_now_ns();
  gap->lost = leat_thread_switches_read(gap->switches, gap->now_ns, true, keep_latest,
                                        &gap->latest_ns);
  leat_thread_switches_end(gap->switches);
}

// The ring is read once in the sleep, so that it begins with the switch back to a core. A number of
// them that is even fits into it: the last that does leaves the core.
static void a_gap_in_a_ring_is_not_told_as_a_sleep(void** state) {
  gap_t gap = {0};
  leat_thread_t thread;
  assert_int_equal(pipe(gap.wake), 0);
  reader_id = 0;
  LEAT_EXPECT_OK(leat_thread_start("gap", fill_ring, &gap, &thread));
  while (!reader_id) leat_clock_sleep_ns(100000);
  if (gap.switches) {
    await_sleep();
    leat_thread_switches_read(gap.switches, leat_clock_now_ns(), false, keep_latest,
                              &gap.latest_ns);
    assert_int_equal(write(gap.wake[1], "x", 1), 1);
  }
  leat_thread_join(thread);
  close(gap.wake[0]);
  close(gap.wake[1]);
  if (!gap.switches) {
    print_message("switches may not be watched here\n");
    skip();
  }
  assert_true(gap.lost > 0);
  assert_true(gap.latest_ns > 0 && gap.latest_ns < gap.now_ns);
}

// ---- Without rights, and after a fork -----------------------------------------------------------

static bool drop_rights(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0}};
  return syscall(SYS_capset, &header, none) == 0;
}

// The child ends with 0 when all is well, and with 2 where it has rights for nothing.
static void record_without_rights(void) {
  leat_recording_t* recording = NULL;
  bool is_right = drop_rights();
  leat_cpu_switches_t* cores = leat_cpu_switches_begin(read_nothing);
  if (cores) _exit(2);
  leat_thread_switches_t* switches = leat_thread_switches_begin();
  const bool are_told = switches != NULL;
  leat_thread_switches_end(switches);
  is_right &= !leat_recording_start(1 << 20);
  mark();
  leat_clock_sleep_ns(20000000);
  play_rounds(0);  // more switches than the thread's ring has room for
  is_right &= !leat_recording_stop(&recording) && recording;
  is_right &= recording && (recording->lost_switches > 0) == are_told && recording->lost == 0;
  const leat_span_t* span = NULL;
  is_right &= recording && (count(recording, LEAT_OFF_CORE_ASLEEP, 0, &span) > 0) == are_told;
  is_right &= recording && count(recording, LEAT_OFF_CORE_READY, -1, NULL) == 0;
  is_right &= !span || (span->name == 0 && span->value == 0);
  _exit(is_right ? 0 : 1);
}

static void without_rights_times_off_a_core_are_told_as_ever(void** state) {
  int how = -1;
  const pid_t child = fork();
  if (child == 0) record_without_rights();
  assert_true(child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how));
  if (WEXITSTATUS(how) == 2) {
    print_message("everybody may watch the cores here\n");
    skip();
  }
  assert_int_equal(WEXITSTATUS(how), 0);
}

// How many files of perf_event_open the process has.
static int count_files(void) {
  DIR* files = opendir("/proc/self/fd");
  int found = 0;
  for (struct dirent* entry; files && (entry = readdir(files));) {
    char target[64];
    const ssize_t size = readlinkat(dirfd(files), entry->d_name, target, sizeof target - 1);
    if (size <= 0) continue;
    target[size] = 0;
    found += strstr(target, "perf_event") != NULL;
  }
  if (files) closedir(files);
  return found;
}

// It has none of its parent's files of cores, and records on with its own; but not under TSan,
// which lets no child of a process with threads start one.
static void record_in_child(int files_of_thread) {
  leat_recording_t* recording = NULL;
  bool is_right = count_files() <= files_of_thread;
#if defined(__SANITIZE_THREAD__)
  _exit(is_right ? 0 : 1);
#endif
  is_right &= !leat_recording_start(1 << 20);
  mark();
  leat_clock_sleep_ns(20000000);
  is_right &= count_files() > files_of_thread;
  is_right &= !leat_recording_stop(&recording);
  is_right &= recording && count(recording, LEAT_OFF_CORE_ASLEEP, -1, NULL) > 0;
  _exit(is_right ? 0 : 1);
}

static void a_child_does_not_keep_the_cores_of_its_parent(void** state) {
  int how = -1;
  need_rights();
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  mark();
  const pid_t child = fork();
  if (child == 0) record_in_child(1);
  assert_true(child > 0 && waitpid(child, &how, 0) == child);
  assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  leat_recording_t* recording = stop();
  assert_true(count(recording, LEAT_OFF_CORE_ASLEEP, -1, NULL) > 0);  // it waited for the child
  leat_recording_free(recording);
  assert_int_equal(count_files(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_took_a_core_is_found_by_time),
      cmocka_unit_test(all_who_had_the_core_are_told),
      cmocka_unit_test(many_who_had_the_core_end_in_nobody),
      cmocka_unit_test(a_sleep_ends_with_the_waking),
      cmocka_unit_test(without_notes_a_time_is_told_whole),
      cmocka_unit_test(full_notes_are_forgotten),
      cmocka_unit_test(a_value_holds_who_and_why),
      cmocka_unit_test(who_takes_the_core_is_named),
      cmocka_unit_test(who_wakes_a_reader_of_a_pipe_is_named),
      cmocka_unit_test(rings_are_read_while_the_recording_goes_on),
      cmocka_unit_test(lost_records_are_counted),
      cmocka_unit_test(a_gap_in_a_ring_is_not_told_as_a_sleep),
      cmocka_unit_test(without_rights_times_off_a_core_are_told_as_ever),
      cmocka_unit_test(a_child_does_not_keep_the_cores_of_its_parent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

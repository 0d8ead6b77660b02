// Recordings of spans. What matters is that none is lost or doubled: threads that fill many chunks,
// threads that have ended before the recording does, threads that go on while it ends and while the
// next one begins. The counts are exact where nothing may be dropped. Times are only compared with
// each other, and with the clock that they are converted to.
#include "base/span.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/file_system.h"
#include "base/test.h"
#include "base/thread.h"
#include "base/thread_switches.h"
#include "scratch.h"

#define THREADS 4
#define SPANS 10000  // of a thread: more than two chunks

static leat_recording_t* stop(void) {
  leat_recording_t* recording = NULL;
  LEAT_EXPECT_OK(leat_recording_stop(&recording));
  assert_non_null(recording);
  return recording;
}

// How many spans of |kind| there are. Each thread's values must count up from |first| on.
static uint64_t count(const leat_recording_t* recording, leat_span_kind_t kind, int64_t first) {
  int64_t next[THREADS + 1];
  uint64_t total = 0;
  assert_true(recording->thread_count <= THREADS + 1);
  for (int i = 0; i <= THREADS; ++i) next[i] = first;
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    assert_true(chunk->thread < recording->thread_count);
    for (uint32_t i = 0; i < chunk->count; ++i) {
      const leat_span_t* span = &chunk->spans[i];
      if (span->kind != (uint32_t)kind) continue;
      assert_true(span->begin >= recording->begin && span->end >= span->begin);
      if (first >= 0) assert_int_equal(span->value, next[chunk->thread]++);
      ++total;
    }
  }
  return total;
}

// How many names the test gave, with the empty one: those that took cores or woke threads have
// categories of their own.
static uint32_t count_names(const leat_recording_t* recording) {
  uint32_t names = recording->name_count;
  for (uint32_t i = 1; i < recording->name_count; ++i) {
    const leat_string_view_t category = recording->names[i].category;
    names -= leat_string_view_equals(category, "preempted by") ||
             leat_string_view_equals(category, "woken by") ||
             leat_string_view_equals(category, "ready for a core");
  }
  return names;
}

// The first span of |kind|.
static const leat_span_t* find(const leat_recording_t* recording, leat_span_kind_t kind) {
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    for (uint32_t i = 0; i < chunk->count; ++i) {
      if (chunk->spans[i].kind == (uint32_t)kind) return &chunk->spans[i];
    }
  }
  fail_msg("there is no %s", leat_span_kind_name(kind));
  return NULL;
}

static void mark(int64_t value) {
  int64_t begin = leat_span_begin();
  if (begin) leat_span_end(begin, LEAT_SPAN_TASK, 0, value);
}

static void mark_many(void* unused) {
  for (int i = 0; i < SPANS; ++i) mark(i);
}

static void nothing_is_recorded_unasked(void** state) {
  leat_recording_t* recording = NULL;
  _Atomic(uint64_t) cache = 0;
  assert_int_equal(leat_span_begin(), 0);
  leat_span_end(1, LEAT_SPAN_TASK, 0, 0);
  assert_int_equal(leat_span_name(&cache, LEAT_SV("node"), LEAT_SV("Op")), 0);
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION, leat_recording_stop(&recording));
  assert_null(recording);
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION, leat_recording_start(1 << 20));
  recording = stop();
  assert_null(recording->first);  // this thread has not recorded anything
  leat_recording_free(recording);
  leat_recording_free(NULL);
}

static void no_span_is_lost(void** state) {
  leat_thread_t threads[THREADS];
  LEAT_EXPECT_OK(leat_recording_start(1 << 30));
  for (int i = 0; i < THREADS; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("spans", mark_many, NULL, &threads[i]));
  }
  mark_many(NULL);  // this thread's last chunk is unfinished at the end, and its thread goes on
  for (int i = 0; i < THREADS; ++i) leat_thread_join(threads[i]);
  leat_recording_t* recording = stop();
  assert_int_equal(count(recording, LEAT_SPAN_TASK, 0), (THREADS + 1) * SPANS);
  assert_int_equal(recording->thread_count, THREADS + 1);
  assert_int_equal(recording->lost, 0);
  int named = 0;
  for (int i = 0; i <= THREADS; ++i) named += !strcmp(recording->threads[i].name, "spans");
  assert_int_equal(named, THREADS);
  leat_recording_free(recording);
}

static void the_newest_stay_where_memory_ends(void** state) {
  LEAT_EXPECT_OK(leat_recording_start(1));  // one chunk
  mark_many(NULL);
  leat_recording_t* recording = stop();
  uint64_t kept = count(recording, LEAT_SPAN_TASK, -1);
  assert_true(kept > 0 && kept < SPANS);
  assert_true(kept + recording->lost >= SPANS);  // times off a core may be lost as well
  int64_t last = 0;
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    for (uint32_t i = 0; i < chunk->count; ++i) {
      if (chunk->spans[i].kind == LEAT_SPAN_TASK) last = chunk->spans[i].value;
    }
  }
  assert_int_equal(last, SPANS - 1);
  leat_recording_free(recording);
}

static void recordings_do_not_mix(void** state) {
  _Atomic(uint64_t) first = 0, second = 0;
  for (int round = 0; round < 3; ++round) {
    LEAT_EXPECT_OK(leat_recording_start(1 << 20));
    mark(round);
    uint32_t two = 0, one = 0;
    if (round == 1) two = leat_span_name(&second, LEAT_SV("b"), LEAT_SV("B"));
    one = leat_span_name(&first, LEAT_SV("a"), LEAT_SV("A"));
    if (round != 1) two = leat_span_name(&second, LEAT_SV("b"), LEAT_SV("B"));
    assert_int_equal(leat_span_name(&first, LEAT_SV("a"), LEAT_SV("A")), one);
    leat_recording_t* recording = stop();
    assert_int_equal(count(recording, LEAT_SPAN_TASK, round), 1);
    assert_int_equal(count_names(recording), 3);
    assert_true(leat_string_view_equals(recording->names[one].name, "a"));
    assert_true(leat_string_view_equals(recording->names[one].category, "A"));
    assert_true(leat_string_view_equals(recording->names[two].name, "b"));
    leat_recording_free(recording);
  }
  mark(7);
}

static void equal_names_are_one(void** state) {
  _Atomic(uint64_t) caches[3] = {0};
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  uint32_t a = leat_span_name(&caches[0], LEAT_SV("ab"), LEAT_SV("c"));
  assert_int_equal(leat_span_name(&caches[1], LEAT_SV("ab"), LEAT_SV("c")), a);
  assert_true(leat_span_name(&caches[2], LEAT_SV("a"), LEAT_SV("bc")) != a);
  leat_recording_free(stop());
}

static _Atomic(uint64_t) graph_caches[3];

// Tells of a graph of three nodes: 2 takes values from 0 and 1.
static void tell_graph(_Atomic(uint32_t)* told) {
  static const uint32_t kFirst[] = {0, 0, 0, 2}, kProducers[] = {0, 1};
  char device[] = "CPU:0", source[] = "a.py:3";
  const leat_string_view_t on = leat_string_view_from(device);
  const leat_span_node_t nodes[] = {
      {LEAT_SV("x"), LEAT_SV("A"), &graph_caches[0], {on, LEAT_SV("int32 []"), {0}, -1}},
      {LEAT_SV("y"), LEAT_SV("A"), NULL, {{0}, {0}, {0}, -1}},
      {LEAT_SV("z"), LEAT_SV("B"), &graph_caches[2],
       {on, {0}, leat_string_view_from(source), 5}}};
  const leat_span_graph_t graph = {nodes, 3, kFirst, kProducers};
  leat_span_tell_graph(told, &graph);
  device[0] = source[0] = '?';  // both were copied
}

// A node of a graph has another number than one of the same name in another graph or in none.
static void graphs_are_told_once_in_a_recording(void** state) {
  _Atomic(uint64_t) cache = 0;
  _Atomic(uint32_t) told = 0, other = 0;
  tell_graph(&told);
  assert_int_equal(told, 0);
  for (int round = 0; round < 2; ++round) {
    LEAT_EXPECT_OK(leat_recording_start(1 << 20));
    const uint32_t alone = leat_span_name(&cache, LEAT_SV("z"), LEAT_SV("B"));
    tell_graph(&other);
    const uint32_t first = leat_span_name(&graph_caches[2], LEAT_SV("z"), LEAT_SV("B"));
    for (int i = 0; i < 3; ++i) tell_graph(&told);
    const uint32_t second = leat_span_name(&graph_caches[2], LEAT_SV("z"), LEAT_SV("B"));
    leat_recording_t* recording = stop();
    assert_int_equal(recording->graph_count, 2);
    assert_int_equal(recording->names[alone].graph, 0);
    assert_int_equal(recording->names[first].graph, 1);
    assert_int_equal(recording->names[second].graph, 2);
    const leat_span_edges_t* edges = &recording->graphs[1];
    assert_int_equal(edges->node_count, 3);
    assert_int_equal(edges->first_name + 2, second);
    assert_true(leat_string_view_equals(recording->names[edges->first_name + 1].name, "y"));
    assert_int_equal(edges->first_producer[2], 0);
    assert_int_equal(edges->first_producer[3], 2);
    assert_int_equal(edges->producers[1], 1);
    assert_true(leat_string_view_equals(edges->facts[0].device, "CPU:0"));
    assert_true(leat_string_view_equals(edges->facts[0].outputs, "int32 []"));
    assert_true(edges->facts[1].device.size == 0 && edges->facts[1].flops < 0);
    assert_true(leat_string_view_equals(edges->facts[2].device, "CPU:0"));
    assert_true(leat_string_view_equals(edges->facts[2].source, "a.py:3"));
    assert_true(edges->facts[2].flops == 5);
    leat_recording_free(recording);
  }
}

// What is recorded before a renewal is in the one, what is after it in the next.
static void a_renewed_recording_begins_anew(void** state) {
  leat_recording_t* first = NULL;
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION, leat_recording_renew(&first));
  assert_null(first);
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  mark(1);
  LEAT_EXPECT_OK(leat_recording_renew(&first));
  mark(2);
  mark(3);
  leat_recording_t* second = stop();
  assert_int_equal(count(first, LEAT_SPAN_TASK, 1), 1);
  assert_int_equal(count(second, LEAT_SPAN_TASK, 2), 2);
  assert_true(second->begin >= first->end);
  leat_recording_free(first);
  leat_recording_free(second);
}

// Both ends of a message compute its number, of the step and the key.
static void messages_have_numbers_of_their_own(void** state) {
  const int64_t number = leat_span_message(7, LEAT_SV("a;b;c"));
  assert_true(number > 0);
  assert_int_equal(number, leat_span_message(7, LEAT_SV("a;b;c")));
  assert_true(number != leat_span_message(8, LEAT_SV("a;b;c")));
  assert_true(number != leat_span_message(7, LEAT_SV("a;b;d")));
}

static _Atomic(bool) is_over;

static void mark_for_ever(void* unused) {
  while (!is_over) mark(0);
}

// Under TSan this proves that a thread may go on while recordings begin and end.
static void threads_go_on_meanwhile(void** state) {
  leat_thread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("spans", mark_for_ever, NULL, &threads[i]));
  }
  for (int round = 0; round < 20; ++round) {
    LEAT_EXPECT_OK(leat_recording_start(round % 2 ? 1 : 1 << 22));
    leat_clock_sleep_ns(2000000);
    leat_recording_t* recording = stop();
    for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
      for (uint32_t i = 0; i < chunk->count; ++i) {
        const uint32_t kind = chunk->spans[i].kind;
        assert_true(kind == LEAT_SPAN_TASK || kind == LEAT_SPAN_OFF_CORE ||
                    kind == LEAT_SPAN_ON_CORE);
        assert_true(chunk->spans[i].end >= chunk->spans[i].begin);
      }
    }
    leat_recording_free(recording);
  }
  is_over = true;
  for (int i = 0; i < THREADS; ++i) leat_thread_join(threads[i]);
}

// The child ends with 0 when all is well. TSan lets no child of a process with threads start one,
// which a recording does where all cores may be watched; there the child records nothing.
static void fork_alone(void) {
  leat_recording_t* recording = NULL;
  bool is_right = leat_span_begin() == 0;
  mark(1);
#if defined(__SANITIZE_THREAD__)
  _exit(is_right ? 0 : 1);
#endif
  is_right &= !leat_recording_start(1 << 20);
  mark(2);
  is_right &= !leat_recording_stop(&recording);
  is_right &= recording && count(recording, LEAT_SPAN_TASK, 2) == 1;
  _exit(is_right ? 0 : 1);
}

static void a_child_of_fork_records_for_itself(void** state) {
  int how = -1;
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  mark(0);
  pid_t child = fork();
  if (child == 0) fork_alone();
  assert_true(child > 0 && waitpid(child, &how, 0) == child);
  assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  mark(1);
  leat_recording_t* recording = stop();
  assert_int_equal(count(recording, LEAT_SPAN_TASK, 0), 2);
  leat_recording_free(recording);
}

static void times_are_those_of_the_clock(void** state) {
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  int64_t before = leat_clock_now_ns();
  int64_t begin = leat_span_begin();
  leat_clock_sleep_ns(20000000);
  leat_span_end(begin, LEAT_SPAN_TASK, 0, 0);
  int64_t after = leat_clock_now_ns();
  leat_recording_t* recording = stop();
  const leat_span_t* span = find(recording, LEAT_SPAN_TASK);
  int64_t from = leat_recording_ns(recording, span->begin);
  int64_t to = leat_recording_ns(recording, span->end);
  assert_true(to - from >= 19000000);
  assert_true(from > before - 1000000 && to < after + 1000000);
  leat_recording_free(recording);
}

// Where the system does not tell switches there is no such span, and the rest is as usual.
static void sleep_is_off_core(void** state) {
  leat_thread_switches_t* switches = leat_thread_switches_begin();
  const bool are_told = switches != NULL;
  leat_thread_switches_end(switches);
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  mark(0);
  int64_t begin = leat_span_begin();
  leat_clock_sleep_ns(20000000);
  leat_span_end(begin, LEAT_SPAN_WAIT, 0, 0);
  leat_recording_t* recording = stop();
  const leat_span_t* wait = find(recording, LEAT_SPAN_WAIT);
  assert_int_equal(count(recording, LEAT_SPAN_OFF_CORE, -1) > 0, are_told);
  bool is_within = false;
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    for (uint32_t i = 0; i < chunk->count; ++i) {
      const leat_span_t* span = &chunk->spans[i];
      if (span->kind != LEAT_SPAN_OFF_CORE) continue;
      if (leat_off_core_why(span->value) != LEAT_OFF_CORE_ASLEEP) continue;
      // A busy machine gives the thread no core for a while when the sleep is over.
      const int64_t ns =
          leat_recording_ns(recording, span->end) - leat_recording_ns(recording, span->begin);
      is_within |= span->begin >= wait->begin && span->end <= wait->end && ns >= 19000000;
    }
  }
  assert_int_equal(is_within, are_told);
  leat_recording_free(recording);
}

// Marks something and sleeps until |*data| is set.
static void sleep_long(void* data) {
  mark(0);
  while (!atomic_load((_Atomic bool*)data)) leat_clock_sleep_ns(50000000);
}

// A thread is on a core before and behind a sleep, and not in it, also where the recording ends in
// the sleep. (Memory of the times off a core and on one is in the order of their ends.)
static void who_does_not_sleep_is_on_a_core(void** state) {
  leat_thread_switches_t* switches = leat_thread_switches_begin();
  const bool are_told = switches != NULL;
  leat_thread_switches_end(switches);
  _Atomic bool is_over = false;
  leat_thread_t sleeper;
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  LEAT_EXPECT_OK(leat_thread_start("sleeper", sleep_long, (void*)&is_over, &sleeper));
  for (int i = 0; i < 3; ++i) {
    mark(i);
    leat_clock_sleep_ns(2000000);
  }
  leat_recording_t* recording = stop();
  atomic_store(&is_over, true);
  leat_thread_join(sleeper);
  int64_t last[THREADS + 1] = {0};
  int times = 0;
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    for (uint32_t i = 0; i < chunk->count; ++i) {
      const leat_span_t* span = &chunk->spans[i];
      if (span->kind != LEAT_SPAN_ON_CORE && span->kind != LEAT_SPAN_OFF_CORE) continue;
      assert_true(span->begin >= last[chunk->thread] && span->end >= span->begin);
      last[chunk->thread] = span->end;
      if (span->kind != LEAT_SPAN_ON_CORE) continue;
      assert_true(span->value >= 0 && span->value < sysconf(_SC_NPROCESSORS_CONF));
      ++times;
    }
  }
  assert_true(are_told ? times >= 3 : times == 0);
  leat_recording_free(recording);
}

static void want(void* mutex) {
  leat_mutex_lock(mutex);
  leat_mutex_unlock(mutex);
}

// Waits until a thread sleeps because the mutex is taken, which glibc notes as a 2.
static void await_sleeper(leat_mutex_t* mutex) {
#if defined(__GLIBC__)
  while (__atomic_load_n(&mutex->handle.__data.__lock, __ATOMIC_RELAXED) != 2) {
    leat_clock_sleep_ns(100000);
  }
#else
  leat_clock_sleep_ns(200000000);
#endif
}

static void waiting_for_a_lock_is_a_span(void** state) {
  leat_mutex_t mutex;
  leat_thread_t thread;
  leat_mutex_initialize(&mutex);
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  leat_mutex_lock(&mutex);  // free, and so no span
  LEAT_EXPECT_OK(leat_thread_start("wants", want, &mutex, &thread));
  await_sleeper(&mutex);
  leat_mutex_unlock(&mutex);
  leat_thread_join(thread);
  leat_recording_t* recording = stop();
  assert_int_equal(count(recording, LEAT_SPAN_LOCK, -1), 1);
#if defined(__GLIBC__)
  assert_int_equal(find(recording, LEAT_SPAN_LOCK)->value, leat_thread_id());  // who held it
#endif
  leat_recording_free(recording);
  leat_mutex_deinitialize(&mutex);
}

static void await(void* notification) {
  leat_notification_wait(notification, LEAT_DEADLINE_NEVER);
}

static void who_wakes_is_told(void** state) {
  leat_notification_t notification;
  leat_thread_t thread;
  leat_notification_initialize(&notification);
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  LEAT_EXPECT_OK(leat_thread_start("awaits", await, &notification, &thread));
  while (!notification.opened) leat_clock_sleep_ns(100000);  // until the other one sleeps
  leat_notification_open(&notification);
  leat_thread_join(thread);
  leat_recording_t* recording = stop();
  assert_int_equal(find(recording, LEAT_SPAN_WAIT)->value, leat_thread_id());
  leat_recording_free(recording);
  leat_notification_deinitialize(&notification);
}

static void files_are_spans(void** state) {
  leat_file_system_t* files = leat_file_system_posix();
  leat_file_t* file;
  char bytes[100] = {0};
  size_t size;
  LEAT_EXPECT_OK(leat_file_open(files, "span", LEAT_FILE_WRITE, leat_allocator_system(), &file));
  LEAT_EXPECT_OK(leat_recording_start(1 << 20));
  LEAT_EXPECT_OK(file->vtable->write(file, bytes, 70));
  LEAT_EXPECT_OK(leat_file_close(file));
  LEAT_EXPECT_OK(leat_file_open(files, "span", LEAT_FILE_READ, leat_allocator_system(), &file));
  LEAT_EXPECT_OK(file->vtable->read_at(file, 20, bytes, sizeof bytes, &size));
  LEAT_EXPECT_OK(leat_file_close(file));
  leat_recording_t* recording = stop();
  assert_int_equal(find(recording, LEAT_SPAN_FILE)->value, 70);
  assert_int_equal(find(recording, LEAT_SPAN_FILE)[1].value, 50);
  assert_int_equal(count(recording, LEAT_SPAN_FILE, -1), 2);
  leat_recording_free(recording);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_recorded_unasked),
      cmocka_unit_test(no_span_is_lost),
      cmocka_unit_test(the_newest_stay_where_memory_ends),
      cmocka_unit_test(recordings_do_not_mix),
      cmocka_unit_test(equal_names_are_one),
      cmocka_unit_test(graphs_are_told_once_in_a_recording),
      cmocka_unit_test(a_renewed_recording_begins_anew),
      cmocka_unit_test(messages_have_numbers_of_their_own),
      cmocka_unit_test(threads_go_on_meanwhile),
      cmocka_unit_test(a_child_of_fork_records_for_itself),
      cmocka_unit_test(times_are_those_of_the_clock),
      cmocka_unit_test(sleep_is_off_core),
      cmocka_unit_test(who_does_not_sleep_is_on_a_core),
      cmocka_unit_test(waiting_for_a_lock_is_a_span),
      cmocka_unit_test(who_wakes_is_told),
      cmocka_unit_test(files_are_spans),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}

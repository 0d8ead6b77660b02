// Tells people what the delay finder (trace/delay.h) has found: one sentence for a delay, and the
// report of `leat trace --report`. board/trace_report.c prints the report for the tool, and
// board/api_traces.c sends the sentences and the names of the causes to the page. A sentence is put
// together of fixed texts from a table with a row for each cause; a cause that has more to say than
// that has a case in the switch besides:
//
//   Conv2D 'conv1' │ waited │ 3.10 ms │ for a lock that │ thread 7 (pool) held
//   kernel           before   time      behind            the cause's own case
//
// The report is about the main group of steps, the one that took the most time. It says what a step
// of the group would gain on average without each delay, and why the slowest one took longer than
// the median. Each list ends after LINES delays, since delay.c gives the largest first. Nothing is
// measured here; the only count is the number of threads that the steps ran on, which stops at
// MAX_COUNTED. All functions append to a string builder, which keeps a failure until its owner
// looks, so a sentence needs no status.
#include <inttypes.h>

#include "trace/delay.h"
#include "trace/delay_rows.h"

#define LINES 8  // of a list
#define MAX_COUNTED 64  // threads

const char* leat_delay_cause_name(leat_delay_cause_t cause) {
  static const char* const kNames[LEAT_DELAY_CAUSES] = {
      [LEAT_DELAY_COMPUTE] = "computing",
      [LEAT_DELAY_RUNTIME] = "between kernels",
      [LEAT_DELAY_INPUT] = "waiting for input",
      [LEAT_DELAY_INPUT_WORK] = "input being made",
      [LEAT_DELAY_QUEUED] = "ready but queued",
      [LEAT_DELAY_WAKE] = "woken late",
      [LEAT_DELAY_PREEMPTED] = "preempted",
      [LEAT_DELAY_LOCK] = "lock",
      [LEAT_DELAY_SYSTEM] = "asleep in the system",
      [LEAT_DELAY_MEMORY] = "memory",
      [LEAT_DELAY_WAIT] = "waiting",
      [LEAT_DELAY_TURN] = "keeping the thread",
      [LEAT_DELAY_SENDER] = "waiting for the sender",
      [LEAT_DELAY_POSTED] = "message queued",
      [LEAT_DELAY_CODING] = "message coded",
      [LEAT_DELAY_FLIGHT] = "message in flight",
      [LEAT_DELAY_COPY] = "copying",
      [LEAT_DELAY_STREAM] = "waiting for the stream"};
  return (unsigned)cause < LEAT_DELAY_CAUSES ? kNames[cause] : "unknown";
}

static void print_time(int64_t ns, leat_string_builder_t* out) {
  if (ns < 1000) {
    leat_string_builder_print(out, "%" PRId64 " ns", ns);
  } else if (ns < 1000000) {
    leat_string_builder_print(out, "%.1f us", (double)ns / 1e3);
  } else if (ns < INT64_C(10000000000)) {
    leat_string_builder_print(out, "%.2f ms", (double)ns / 1e6);
  } else {
    leat_string_builder_print(out, "%.1f s", (double)ns / 1e9);
  }
}

// "MatMul 'layer/mul'"; |other| where the piece was in no kernel.
static void print_kernel(const leat_timeline_t* timeline, uint32_t name, const char* other,
                         leat_string_builder_t* out) {
  if (name == LEAT_NO_NAME) {
    leat_string_builder_append(out, leat_string_view_from(other));
    return;
  }
  const leat_slice_name_t* n = &timeline->names[name];
  leat_string_builder_append(out, n->op);
  if (n->node.size) leat_string_builder_print(out, " '%.*s'", LEAT_SV_ARG(n->node));
}

// A thread of the process that |row| is of.
static void print_thread(const leat_timeline_t* timeline, uint32_t row, int64_t id,
                         leat_string_builder_t* out) {
  leat_string_view_t name = {0};
  for (size_t i = 0; i < timeline->row_count && id; ++i) {
    if (timeline->rows[i]->thread == id &&
        timeline->rows[i]->process == timeline->rows[row]->process) {
      name = timeline->rows[i]->name;
    }
  }
  if (id) {
    leat_string_builder_print(out, "thread %" PRId64 "%s%.*s%s", id, name.size ? " (" : "",
                              LEAT_SV_ARG(name), name.size ? ")" : "");
  } else {
    leat_string_builder_append(out, LEAT_SV("another thread"));
  }
}

// The thread that took a core or woke another one: "thread 7 (pool)" of the process of the delay's
// row, and otherwise "ninja (4711)".
static void print_other(const leat_delays_t* delays, const leat_delay_t* delay,
                        leat_string_builder_t* out) {
  const leat_timeline_t* timeline = delays->timeline;
  const leat_delay_rows_t rows = {.timeline = timeline};
  if (delay->by && delay->other != LEAT_NO_NAME &&
      leat_rows_of_thread(&rows, delay->row, delay->by) == UINT32_MAX) {
    leat_string_builder_print(out, "%.*s (%u)", LEAT_SV_ARG(timeline->names[delay->other].node),
                              delay->by);
  } else {
    print_thread(timeline, delay->row, delay->by, out);
  }
  if (delay->by && delay->has_others) leat_string_builder_append(out, LEAT_SV(" and others"));
}

void leat_delay_print(const leat_delays_t* delays, const leat_delay_t* delay,
                      leat_string_builder_t* out) {
  // What stands before and behind the time; the kernel comes first, unless a sentence says so.
  static const struct {
    const char *no_kernel, *before, *behind;
  } kSentences[LEAT_DELAY_CAUSES] = {
      [LEAT_DELAY_COMPUTE] = {"The step", " computed for ", ""},
      [LEAT_DELAY_RUNTIME] = {"The step", " spent ", " between its kernels"},
      [LEAT_DELAY_INPUT] = {"A kernel", " waited ", " for input, which "},
      [LEAT_DELAY_INPUT_WORK] = {"A kernel", " waited ", " for input, while "},
      [LEAT_DELAY_QUEUED] = {"A task", " was ready and queued for ", ""},
      [LEAT_DELAY_WAKE] = {"The step", " went on ", " after it could, when "},
      [LEAT_DELAY_PREEMPTED] = {"The step", " lost its core to ", ""},
      [LEAT_DELAY_LOCK] = {"The step", " waited ", " for a lock that "},
      [LEAT_DELAY_SYSTEM] = {"The step", " slept ", " in the system"},
      [LEAT_DELAY_MEMORY] = {"The step", " waited ", " for memory from the system"},
      [LEAT_DELAY_WAIT] = {"The step", " waited ", ""},
      [LEAT_DELAY_TURN] = {"The step", " computed for ", " on the thread that "},
      [LEAT_DELAY_SENDER] = {"A kernel", " waited ", " for its value, the sender of which, "},
      [LEAT_DELAY_POSTED] = {"A kernel", " waited ", " for a message that lay with a task"},
      [LEAT_DELAY_CODING] = {"A kernel", " waited ", " for a message to be written or read"},
      [LEAT_DELAY_FLIGHT] = {"A kernel", " waited ", " for a message that was under way"},
      [LEAT_DELAY_COPY] = {"The step", " copied for ", " between host and device"},
      [LEAT_DELAY_STREAM] = {"Work", " waited ", " for its stream"}};
  const leat_timeline_t* timeline = delays->timeline;
  print_kernel(timeline, delay->name, kSentences[delay->cause].no_kernel, out);
  leat_string_builder_append(out, leat_string_view_from(kSentences[delay->cause].before));
  if (delay->cause == LEAT_DELAY_PREEMPTED) {
    print_other(delays, delay, out);
    leat_string_builder_append(out, LEAT_SV(" for "));
  }
  print_time(delay->total_ns, out);
  leat_string_builder_append(out, leat_string_view_from(kSentences[delay->cause].behind));
  switch (delay->cause) {
    case LEAT_DELAY_INPUT:
      print_thread(timeline, delay->row, delay->by, out);
      leat_string_builder_append(out, LEAT_SV(" was not yet at work on"));
      break;
    case LEAT_DELAY_INPUT_WORK:
      print_thread(timeline, delay->row, delay->by, out);
      leat_string_builder_append(out, LEAT_SV(" ran "));
      print_kernel(timeline, delay->other, "a step", out);
      break;
    case LEAT_DELAY_LOCK:
      print_thread(timeline, delay->row, delay->by, out);
      leat_string_builder_append(out, LEAT_SV(" held"));
      break;
    case LEAT_DELAY_WAKE:
      print_thread(timeline, delay->row, timeline->rows[delay->row]->thread, out);
      leat_string_builder_append(out, LEAT_SV(" had woken up"));
      break;
    case LEAT_DELAY_SYSTEM:
    case LEAT_DELAY_WAIT:
      if (delay->by) {
        leat_string_builder_append(out, LEAT_SV(" until "));
        print_other(delays, delay, out);
        leat_string_builder_append(out, LEAT_SV(" woke it"));
      } else if (delay->cause == LEAT_DELAY_SYSTEM) {
        leat_string_builder_append(out, LEAT_SV(", as for the disk"));
      } else {
        leat_string_builder_append(out, LEAT_SV(" for something that is not recorded"));
      }
      break;
    case LEAT_DELAY_QUEUED:
      leat_string_builder_append(out, LEAT_SV(", because the threads of the pool ran "));
      print_kernel(timeline, delay->other, "other tasks", out);
      break;
    case LEAT_DELAY_TURN:
      print_kernel(timeline, delay->other, "another kernel", out);
      leat_string_builder_append(out, LEAT_SV(", which was ready, waited for"));
      break;
    case LEAT_DELAY_SENDER:
      print_kernel(timeline, delay->other, "a kernel", out);
      leat_string_builder_append(out, LEAT_SV(", had not been begun"));
      break;
    default: break;
  }
}

static void print_list(const leat_delays_t* delays, const leat_delay_t* list, size_t count,
                       leat_string_builder_t* out) {
  if (count == 0) leat_string_builder_append(out, LEAT_SV("  nothing\n"));
  for (size_t i = 0; i < count && i < LINES; ++i) {
    leat_string_builder_append(out, LEAT_SV("  "));
    print_time(list[i].gain_ns, out);
    leat_string_builder_append(out, LEAT_SV(": "));
    leat_delay_print(delays, &list[i], out);
    leat_string_builder_append(out, LEAT_SV(" (median step: "));
    print_time(list[i].median_ns, out);
    leat_string_builder_append(out, LEAT_SV(")\n"));
  }
  if (count > LINES) leat_string_builder_print(out, "  and %zu more\n", count - LINES);
}

// On how many rows the steps of a group are, MAX_COUNTED at most.
static size_t count_rows(const leat_delays_t* delays, size_t group) {
  uint32_t known[MAX_COUNTED];
  size_t count = 0;
  for (size_t i = 0; i < delays->step_count && count < MAX_COUNTED; ++i) {
    size_t k = 0;
    if (delays->steps[i].group != group) continue;
    while (k < count && known[k] != delays->steps[i].row) ++k;
    if (k == count) known[count++] = delays->steps[i].row;
  }
  return count;
}

static leat_status_t print_report(const leat_delays_t* delays, leat_arena_t* arena,
                                  leat_string_builder_t* out) {
  const leat_step_group_t* group = &delays->groups[delays->main_group];
  const leat_step_t* slowest = &delays->steps[group->slowest];
  leat_delay_t* list;
  size_t count;
  leat_string_builder_print(out, "%zu of %zu steps are alike and took the most time, on ",
                            group->count, delays->step_count);
  const size_t rows = count_rows(delays, delays->main_group);
  if (rows > 1) leat_string_builder_print(out, "%zu threads, the slowest on ", rows);
  print_thread(delays->timeline, slowest->row, delays->timeline->rows[slowest->row]->thread, out);
  leat_string_builder_append(out, LEAT_SV(".\nA step takes "));
  print_time(group->median_ns, out);
  leat_string_builder_print(out, " (median); the slowest, step %" PRId64 ", took ",
                            slowest->number);
  print_time(slowest->end_ns - slowest->begin_ns, out);
  leat_string_builder_append(out, LEAT_SV(".\n\nWhat a step would gain, on average, without\n"));
  LEAT_RETURN_IF_ERROR(
      leat_delays_of_group(delays, delays->main_group, arena, &list, &count));
  print_list(delays, list, count, out);
  leat_string_builder_append(out,
                             LEAT_SV("\nWhy the slowest step took longer than the median\n"));
  LEAT_RETURN_IF_ERROR(leat_delays_of_step(delays, group->slowest, arena, &list, &count));
  print_list(delays, list, count, out);
  return leat_ok_status();
}

leat_status_t leat_delays_report(const leat_delays_t* delays, leat_string_builder_t* out) {
  leat_arena_t arena;
  if (delays->step_count == 0) {
    leat_string_builder_append(out, LEAT_SV("The recording has no step.\n"));
    return leat_ok_status();
  }
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = print_report(delays, &arena, out);
  leat_arena_deinitialize(&arena);
  return status;
}

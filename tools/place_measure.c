// Runs the step of leat place and measures it: once to compile it, then up to ten times for the
// shortest time, and once more with a full trace for the time that each device was busy. The
// shortest time is taken because everything that disturbs a measurement makes it longer. What must
// be fed and was not named is fed zeros, which is enough for most steps to run. Where the step
// cannot run, the reason is kept in the result instead of failing, if the caller asked only for an
// explanation.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "element.h"
#include "endpoint.h"
#include "literal.h"
#include "npy.h"
#include "place.h"

enum { MOST = 64, STEPS = 10, UNKNOWN_DIM = 32 };
#define ENOUGH_US 2e6

typedef struct feeds_s {
  TF_Output outputs[MOST];
  TF_Tensor* values[MOST];
  int count;
} feeds_t;

// Parses NAME=VALUE or NAME=@FILE.npy and appends the feed.
static int read_feed(place_step_t* s, const char* text, feeds_t* feeds) {
  char name[256];
  const char* equals = strchr(text, '=');
  if (!equals || equals == text || (size_t)(equals - text) >= sizeof name) {
    return complain_usage("place", "--feed %s: must be NAME=VALUE", text);
  }
  memcpy(name, text, (size_t)(equals - text));
  name[equals - text] = 0;
  TF_Output output = endpoint_output(s->graph, name);
  if (!output.oper) return EXIT_FAILED;
  TF_DataType dtype = TF_OperationOutputType(output);
  if (dtype > 100) dtype = (TF_DataType)(dtype - 100);
  TF_Tensor* value = equals[1] == '@' ? npy_read(equals + 2, s->status)
                                      : literal_parse(equals + 1, dtype, s->status);
  if (!value) return complain_status(text, s->status);
  feeds->outputs[feeds->count] = output;
  feeds->values[feeds->count++] = value;
  return EXIT_OK;
}

static bool is_fed(const feeds_t* feeds, const TF_Operation* operation) {
  for (int i = 0; i < feeds->count; ++i) {
    if (feeds->outputs[i].oper == operation) return true;
  }
  return false;
}

// Appends a feed of zeros. What cannot be fed (a resource, too large a shape) is left out, and
// fails in the step.
static void feed_zeros(place_step_t* s, TF_Operation* operation, feeds_t* feeds) {
  TF_Output output = {operation, 0};
  TF_DataType dtype = TF_OperationOutputType(output);
  int64_t dims[8], count = 1;
  int rank = TF_GraphGetTensorNumDims(s->graph, output, s->status);
  if (rank > 8 || feeds->count == MOST || dtype == TF_RESOURCE || dtype == TF_VARIANT) return;
  TF_GraphGetTensorShape(s->graph, output, dims, rank < 0 ? 0 : rank, s->status);
  for (int d = 0; d < rank; ++d) {
    if (dims[d] < 0) dims[d] = UNKNOWN_DIM;
    if (__builtin_mul_overflow(count, dims[d], &count)) return;
  }
  size_t size;
  if (__builtin_mul_overflow((size_t)count, TF_DataTypeSize(dtype), &size)) return;
  if (dtype == TF_STRING) size = (size_t)count * sizeof(TF_TString);
  TF_Tensor* value = TF_AllocateTensor(dtype, dims, rank < 0 ? 0 : rank, size);
  if (!value) return;
  memset(TF_TensorData(value), 0, size);
  feeds->outputs[feeds->count] = output;
  feeds->values[feeds->count++] = value;
}

// Feeds zeros to the placeholders in |nodes| that are not fed yet.
static void feed_rest(place_step_t* s, const json_t* nodes, feeds_t* feeds) {
  for (const json_t* n = nodes->first; n; n = n->next) {
    const char* op = json_text(n, "op");
    if (strcmp(op, "Placeholder") && strcmp(op, "PlaceholderV2")) continue;
    TF_Operation* operation = TF_GraphOperationByName(s->graph, json_text(n, "name"));
    if (operation && !is_fed(feeds, operation)) feed_zeros(s, operation, feeds);
  }
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

// The step, or what must run before it, has failed with s->status: complains, or keeps the reason.
static int cannot_run(const place_step_t* s, const char* what, place_measured_t* m) {
  m->steps = 0;
  if (!s->may_fail) return complain("%s%s", what, TF_Message(s->status));
  snprintf(m->reason, sizeof m->reason, "%s%s", what, TF_Message(s->status));
  m->reason[strcspn(m->reason, "\n")] = 0;
  return EXIT_FAILED;
}

// Runs the step and drops what it fetches.
static int run_step(place_step_t* s, TF_Session* session, const feeds_t* feeds,
                    const TF_Buffer* options, TF_Buffer* metadata, place_measured_t* m) {
  TF_Tensor* values[MOST] = {NULL};
  TF_SessionRun(session, options, feeds->outputs, feeds->values, feeds->count, s->fetches, values,
                s->fetch_count, s->targets, s->target_count, metadata, s->status);
  for (int i = 0; i < s->fetch_count; ++i) TF_DeleteTensor(values[i]);
  return TF_GetCode(s->status) == TF_OK ? EXIT_OK : cannot_run(s, "", m);
}

static int run_steps(place_step_t* s, TF_Session* session, const feeds_t* feeds,
                     place_measured_t* m) {
  int code = run_step(s, session, feeds, NULL, NULL, m);  // compiles the step
  double all_us = 0;
  for (int i = 0; i < STEPS && all_us < ENOUGH_US && !code; ++i) {
    double start_us = now_us();
    code = run_step(s, session, feeds, NULL, NULL, m);
    double time_us = now_us() - start_us;
    all_us += time_us;
    if (code) break;
    if (m->steps == 0 || time_us < m->step_us) m->step_us = time_us;
    ++m->steps;
  }
  // RunOptions in wire format: trace_level = FULL_TRACE.
  if (code) return code;
  const char full_trace[] = {8, 3};
  TF_Buffer* options = TF_NewBufferFromString(full_trace, sizeof full_trace);
  m->metadata = TF_NewBuffer();
  code = run_step(s, session, feeds, options, m->metadata, m);
  TF_DeleteBuffer(options);
  if (!code) m->message = leat_message_open("RunMetadata", m->metadata, s->status);
  return code;
}

// Runs each of |inits| in a step of its own.
static int initialize(place_step_t* s, TF_Session* session, const char* const* inits,
                      int init_count, place_measured_t* m) {
  for (int i = 0; i < init_count; ++i) {
    const TF_Operation* target = endpoint_operation(s->graph, inits[i]);
    if (!target) return EXIT_FAILED;
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, s->status);
    if (TF_GetCode(s->status) == TF_OK) continue;
    char what[200];
    snprintf(what, sizeof what, "%s: ", inits[i]);
    return cannot_run(s, what, m);
  }
  return EXIT_OK;
}

int place_measure(place_step_t* s, const char* const* inits, int init_count,
                  const char* const* feed_texts, int feed_count, const json_t* nodes,
                  place_measured_t* m) {
  feeds_t feeds = {.count = 0};
  int code = EXIT_OK;
  for (int i = 0; i < feed_count && !code; ++i) code = read_feed(s, feed_texts[i], &feeds);
  TF_Session* session = NULL;
  if (!code) {
    feed_rest(s, nodes, &feeds);
    session = TF_NewSession(s->graph, s->options, s->status);
    if (!session) code = complain_status("opening a session", s->status);
  }
  if (!code) code = initialize(s, session, inits, init_count, m);
  if (!code) code = run_steps(s, session, &feeds, m);
  for (int i = 0; i < feeds.count; ++i) TF_DeleteTensor(feeds.values[i]);
  TF_Status* ignored = TF_NewStatus();
  if (session) TF_DeleteSession(session, ignored);
  TF_DeleteStatus(ignored);
  return *m->reason ? EXIT_OK : code;
}

double place_measured_busy_us(const place_measured_t* m, const char* device) {
  double busy_us = 0;
  if (!m->message) return 0;
  leat_message_view_t stats = leat_message_child(leat_message_view(m->message), "step_stats", 0);
  for (size_t d = 0; d < leat_message_count(stats, "dev_stats"); ++d) {
    leat_message_view_t on = leat_message_child(stats, "dev_stats", d);
    size_t size;
    const char* name = leat_message_string(on, "device", 0, &size);
    if (size != strlen(device) || memcmp(name, device, size)) continue;
    for (size_t i = 0; i < leat_message_count(on, "node_stats"); ++i) {
      leat_message_view_t node = leat_message_child(on, "node_stats", i);
      const char* label = leat_message_string(node, "node_name", 0, &size);
      if (size > 0 && label[0] == '_') continue;  // a Recv, which waits rather than works
      busy_us += (double)(leat_message_integer(node, "op_end_rel_nanos", 0) -
                          leat_message_integer(node, "op_start_rel_nanos", 0)) / 1e3;
    }
  }
  return busy_us;
}

void place_measured_free(place_measured_t* m) {
  leat_message_close(m->message);
  TF_DeleteBuffer(m->metadata);
}

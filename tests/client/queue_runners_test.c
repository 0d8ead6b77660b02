// Training graphs that were read with the queue runners of their collection: all of them start,
// input ends as their messages say, and messages that make no sense give a status. The collection
// is put together here byte by byte, because no function of ours writes one, and goes into a
// MetaGraphDef file with a graph of two queues. The tests load it, start the runners, and count
// what arrives. Runners that a client makes itself, and the coordinator, are tested in
// input_test.c.
#include <stdio.h>
#include <stdlib.h>

#include "client/model_kit.h"
#include "leat/input.h"
#include "scratch.h"

// ---- Messages as bytes --------------------------------------------------------------------------

typedef struct bytes_s {
  uint8_t data[20000];
  size_t size;
} bytes_t;

static void put_varint(bytes_t* out, size_t value) {
  for (; value > 127; value >>= 7) out->data[out->size++] = (uint8_t)(value | 128);
  out->data[out->size++] = (uint8_t)value;
}

static void put(bytes_t* out, int field, const void* data, size_t size) {
  assert_true(out->size + size + 12 < sizeof out->data);
  put_varint(out, (size_t)field << 3 | 2);
  put_varint(out, size);
  memcpy(out->data + out->size, data, size);
  out->size += size;
}

static void put_text(bytes_t* out, int field, const char* text) {
  put(out, field, text, strlen(text));
}

// The runners of the collection, in a list of |kind| (2: of bytes).
static bytes_t list;

// |ends|: codes as bytes.
static void put_runner(const char* enqueue, int count, const char* close, const char* ends) {
  bytes_t runner = {.size = 0};
  put_text(&runner, 1, "queue");
  for (int i = 0; i < count; ++i) put_text(&runner, 2, enqueue);
  put_text(&runner, 3, close);
  put_text(&runner, 4, "cancel");
  if (*ends) put_text(&runner, 5, ends);
  put(&list, 1, runner.data, runner.size);
}

static void put_collection(bytes_t* meta_graph, int kind) {
  bytes_t collection = {.size = 0}, entry = {.size = 0};
  put(&collection, kind, list.data, list.size);
  put_text(&entry, 1, "queue_runners");
  put(&entry, 2, collection.data, collection.size);
  put(meta_graph, 4, entry.data, entry.size);
}

// ---- A training graph ---------------------------------------------------------------------------

static TF_Graph* graph;  // as it was read
static TF_Session* session;
static TF_Buffer* message;
static leat_coordinator_t* coordinator;
static leat_queue_runner_t** runners;
static int runner_count;

static TF_Operation* add(const char* op, const char* name, const TF_Output* inputs, int count,
                         leat_attribute_t attribute) {
  return leat_operation(kit.scope, op, name, inputs, count, &attribute, attribute.name != NULL);
}

static TF_Output queue(const char* name) {
  static const TF_DataType type = TF_INT32;
  return (TF_Output){add("FIFOQueueV2", name, NULL, 0,
                         (leat_attribute_t)leat_attribute_types("component_types", 1, &type)),
                     0};
}

static TF_Output dequeue(const char* name, TF_Output from) {
  static const TF_DataType type = TF_INT32;
  return (TF_Output){add("QueueDequeueV2", name, &from, 1,
                         (leat_attribute_t)leat_attribute_types("component_types", 1, &type)),
                     0};
}

static void enqueue(const char* name, TF_Output into, TF_Output value) {
  add("QueueEnqueueV2", name, (TF_Output[]){into, value}, 2, (leat_attribute_t){.name = NULL});
}

static void closing(const char* name, TF_Output queue, int cancels) {
  add("QueueCloseV2", name, &queue, 1,
      (leat_attribute_t)leat_attribute_bool("cancel_pending_enqueues", cancels));
}

// Numbers below 10 go through two queues; "fail" would fill the second one from a file that is not
// there.
static void build(void) {
  TF_Output first = queue("queue"), second = queue("batch");
  leat_variable_untrained(kit.scope, "next", TF_INT32, 0, NULL, leat_initializer_constant(0));
  TF_Output next = leat_variable_at(kit.scope, 0);
  TF_Output number = {
      add("CountUpTo", NULL, &next, 1, (leat_attribute_t)leat_attribute_int("limit", 10)), 0};
  enqueue("count", first, number);
  enqueue("pass", second,
          leat_multiply(kit.scope, dequeue(NULL, first), leat_constant_int(kit.scope, 2)));
  TF_Output name = leat_constant_string(kit.scope, "no/such/file");
  TF_Output text = {leat_operation(kit.scope, "ReadFile", NULL, &name, 1, NULL, 0), 0};
  TF_Output size = {leat_operation(kit.scope, "StringLength", NULL, &text, 1, NULL, 0), 0};
  enqueue("fail", second, size);
  closing("close", first, 0);
  closing("cancel", first, 1);
  closing("close_second", second, 0);
  dequeue("taken", second);
  leat_group(kit.scope, "init", (TF_Operation*[]){leat_variables_initializer(kit.scope)}, 1);
  kit_ok(leat_scope_status(kit.scope));
}

static int set_up(void** state) {
  if (scratch_set_up(state) || model_kit_set_up(state)) return -1;
  list.size = 0;
  coordinator = leat_coordinator_create();
  graph = TF_NewGraph();
  message = TF_NewBuffer();
  build();
  return 0;
}

static int tear_down(void** state) {
  leat_coordinator_free(coordinator);
  leat_queue_runners_free(runners, runner_count);
  if (session) kit_close(session);
  session = NULL;
  runners = NULL;
  TF_DeleteBuffer(message);
  TF_DeleteGraph(graph);
  return model_kit_tear_down(state) || scratch_tear_down(state);
}

// Writes the MetaGraph and reads it into |graph|, whose runners these are.
static void load(int kind) {
  TF_Buffer* graph_def = TF_NewBuffer();
  bytes_t meta_graph = {.size = 0};
  TF_GraphToGraphDef(kit.graph, graph_def, kit.status);
  put(&meta_graph, 2, graph_def->data, graph_def->length);
  TF_DeleteBuffer(graph_def);
  if (kind) put_collection(&meta_graph, kind);
  scratch_write_file("model.meta", meta_graph.data, meta_graph.size);
  leat_meta_graph_load("model.meta", graph, message, kit.status);
  kit_ok(kit.status);
  runners = leat_queue_runners_load(graph, message, &runner_count, kit.status);
}

static void start(void) {
  kit_ok(kit.status);
  session = kit_session(graph);
  leat_target_run(session, TF_GraphOperationByName(graph, "init"), kit.status);
  kit_ok(kit.status);
  leat_queue_runners_start(runners, runner_count, session, coordinator, kit.status);
  kit_ok(kit.status);
}

// The sum of what arrives until there is no more.
static int take_all(void) {
  TF_Output taken = {TF_GraphOperationByName(graph, "taken"), 0};
  int sum = 0;
  for (;;) {
    TF_Tensor* value = NULL;
    TF_SessionRun(session, NULL, NULL, NULL, 0, &taken, &value, 1, NULL, 0, NULL, kit.status);
    if (!value) break;
    sum += kit_int32_of(value);
    TF_DeleteTensor(value);
  }
  kit_expect(kit.status, TF_OUT_OF_RANGE);
  return sum;
}

static void all_runners_of_a_graph_start(void** state) {
  put_runner("count", 1, "close", "");
  put_runner("pass", 3, "close_second", "\x01\x0b");  // CANCELLED, OUT_OF_RANGE
  load(2);
  assert_int_equal(runner_count, 2);
  start();
  assert_int_equal(take_all(), 90);
  leat_coordinator_join(coordinator, 60, kit.status);
  kit_ok(kit.status);
  assert_int_equal(leat_coordinator_should_stop(coordinator), 0);
}

static void other_codes_may_end_the_input(void** state) {
  put_runner("fail", 1, "close_second", "\x05");  // NOT_FOUND
  load(2);
  start();
  assert_int_equal(take_all(), 0);
  leat_coordinator_join(coordinator, 60, kit.status);
  kit_ok(kit.status);
}

static void what_is_no_end_stops_all(void** state) {
  put_runner("count", 1, "close", "");
  put_runner("fail", 1, "close_second", "\x01\x0b");
  load(2);
  start();
  leat_coordinator_join(coordinator, 60, kit.status);
  kit_expect_text(kit.status, TF_NOT_FOUND, "no/such/file");
  assert_int_equal(leat_coordinator_should_stop(coordinator), 1);
}

static void a_graph_without_runners_has_none(void** state) {
  load(0);
  kit_ok(kit.status);
  assert_true(!runners && runner_count == 0);
}

static void expect_refusal(TF_Code code, const char* text) {
  kit_expect_text(kit.status, code, text);
  assert_true(!runners && runner_count == 0);
}

static void a_runner_of_operations_that_are_absent_is_refused(void** state) {
  put_runner("count", 1, "close", "");
  put_runner("lost", 1, "close", "");
  load(2);
  expect_refusal(TF_NOT_FOUND, "'lost'");
  kit_expect_text(kit.status, TF_NOT_FOUND, "queue_runners");
}

static void a_runner_that_closes_nothing_is_refused(void** state) {
  put_runner("count", 1, "", "");
  load(2);
  expect_refusal(TF_INVALID_ARGUMENT, "queue_runners");
}

static void a_collection_of_another_kind_is_refused(void** state) {
  put_text(&list, 1, "count");
  load(1);
  expect_refusal(TF_INVALID_ARGUMENT, "queue_runners");
}

static void bytes_that_make_no_sense_are_refused(void** state) {
  put_text(&list, 1, "\xff\xff");
  load(2);
  expect_refusal(TF_INVALID_ARGUMENT, "queue_runners");
  TF_Buffer* bytes = TF_NewBufferFromString("\xff", 1);
  runners = leat_queue_runners_load(graph, bytes, &runner_count, kit.status);
  TF_DeleteBuffer(bytes);
  expect_refusal(TF_DATA_LOSS, "MetaGraphDef");
  runners = leat_queue_runners_load(graph, NULL, &runner_count, kit.status);
  kit_ok(kit.status);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(all_runners_of_a_graph_start),
      TEST(other_codes_may_end_the_input),
      TEST(what_is_no_end_stops_all),
      TEST(a_graph_without_runners_has_none),
      TEST(a_runner_of_operations_that_are_absent_is_refused),
      TEST(a_runner_that_closes_nothing_is_refused),
      TEST(a_collection_of_another_kind_is_refused),
      TEST(bytes_that_make_no_sense_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

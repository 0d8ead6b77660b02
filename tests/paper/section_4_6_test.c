// White paper, section 4.6: queues. Each test stands under the sentence of the paper that it tests,
// and runs small graphs through the public C API, with a thread of its own where one side has to
// wait for the other. That an operation waits is seen by a time limit of 30 ms that it runs into.
// Closing, cancelling and failures while somebody waits are tested in tests/session/queue_test.c.
#include <pthread.h>
#include <unistd.h>

#include "capi/function_kit.h"

#define QUEUE(name, op, dtype, attrs) \
  NODE(name, op, "", TYPES("component_types", "DT_" dtype) \
       " attr { key: 'shapes' value { list { shape {} } } }" attrs)
#define CAPACITY(n) " attr { key: 'capacity' value { i: " n " } }"
#define PUT(name, queue, value, dtype) \
  NODE(name, "QueueEnqueueV2", IN(queue) IN(value), TYPES("Tcomponents", "DT_" dtype))
#define TAKE(name, queue, dtype) \
  NODE(name, "QueueDequeueV2", IN(queue), TYPES("component_types", "DT_" dtype))
#define TAKE_MANY(name, queue, n, dtype)     \
  NODE(name "/n", "Const", "", INT32(n))     \
  NODE(name, "QueueDequeueManyV2", IN(queue) IN(name "/n"), \
       TYPES("component_types", "DT_" dtype))
#define SIZE(name, queue) NODE(name, "QueueSizeV2", IN(queue), "")
#define X(dtype) NODE("x", "Placeholder", "", TYPE("dtype", dtype))

// Runs |target| with |x| (deleted; may be NULL) as "x", if need be waiting for others; the code.
static TF_Code put(const functions_t* f, const char* target, TF_Tensor* x, int timeout_ms) {
  TF_Status* status = TF_NewStatus();
  TF_Output feed = {TF_GraphOperationByName(f->graph, "x"), 0};
  const TF_Operation* operation = TF_GraphOperationByName(f->graph, target);
  const char limit[] = {0x10, (char)timeout_ms};
  TF_Buffer* options = timeout_ms ? TF_NewBufferFromString(limit, sizeof limit) : NULL;
  TF_SessionRun(f->session, options, &feed, &x, x != NULL, NULL, NULL, 0, &operation, 1, NULL,
                status);
  TF_Code code = TF_GetCode(status);
  if (options) TF_DeleteBuffer(options);
  TF_DeleteTensor(x);
  TF_DeleteStatus(status);
  return code;
}

static int size_of(functions_t* f) {
  TF_Tensor* size = functions_run(f, "size", 0, NULL, NULL);
  int value = kit_int32_of(size);
  TF_DeleteTensor(size);
  return value;
}

static float sum_of(TF_Tensor* batch) {
  float sum = 0;
  const float* values = TF_TensorData(batch);
  for (int64_t i = 0; i < TF_TensorElementCount(batch); ++i) sum += values[i];
  TF_DeleteTensor(batch);
  return sum;
}

enum { kPuts = 200 };

static void* put_numbers(void* data) {
  intptr_t failed = 0;
  for (int i = 0; i < kPuts; ++i) failed += put(data, "put", kit_float((float)i), 0) != TF_OK;
  return (void*)failed;
}

// "They allow different portions of the graph to execute asynchronously, possibly at different
// cadences, and to hand off data through Enqueue and Dequeue operations."
static void paper_4_6__parts_run_at_different_cadences(void** state) {
  functions_t f = functions_open(QUEUE("q", "FIFOQueueV2", "FLOAT", CAPACITY("5")) X("FLOAT")
                                 PUT("put", "q", "x", "FLOAT")
                                 TAKE_MANY("batch", "q", "4", "FLOAT"));
  pthread_t producer;
  void* failed;
  float sum = 0;
  pthread_create(&producer, NULL, put_numbers, &f);
  for (int i = 0; i < kPuts / 4; ++i) sum += sum_of(functions_run(&f, "batch", 0, NULL, NULL));
  pthread_join(producer, &failed);
  assert_null(failed);
  assert_true(sum == kPuts * (kPuts - 1) / 2);
  functions_close(&f);
}

// "Enqueue operations can block until space becomes available in the queue, and Dequeue operations
// can block until a desired minimum number of elements are available."
static void paper_4_6__operations_block_until_they_can_be_done(void** state) {
  functions_t f = functions_open(QUEUE("q", "FIFOQueueV2", "FLOAT", CAPACITY("2")) X("FLOAT")
                                 PUT("put", "q", "x", "FLOAT") TAKE("take", "q", "FLOAT")
                                 TAKE_MANY("both", "q", "2", "FLOAT") SIZE("size", "q"));
  assert_int_equal(put(&f, "put", kit_float(1), 0), TF_OK);
  assert_int_equal(functions_try(&f, "both", NULL, 30), TF_DEADLINE_EXCEEDED);
  assert_int_equal(put(&f, "put", kit_float(2), 0), TF_OK);
  assert_int_equal(put(&f, "put", kit_float(3), 30), TF_DEADLINE_EXCEEDED);
  assert_int_equal(size_of(&f), 2);  // what gave up left nothing
  assert_true(sum_of(functions_run(&f, "both", 0, NULL, NULL)) == 3);
  assert_int_equal(functions_try(&f, "take", NULL, 30), TF_DEADLINE_EXCEEDED);
  functions_close(&f);
}

// "One use of queues is to allow input data to be prefetched from disk files while a previous batch
// of data is still being processed": with nobody taking, the queue fills.
static void paper_4_6__input_is_prefetched(void** state) {
  functions_t f = functions_open(QUEUE("q", "FIFOQueueV2", "FLOAT", CAPACITY("200")) X("FLOAT")
                                 PUT("put", "q", "x", "FLOAT") TAKE("take", "q", "FLOAT")
                                 SIZE("size", "q"));
  pthread_t producer;
  void* failed;
  pthread_create(&producer, NULL, put_numbers, &f);
  while (size_of(&f) < kPuts) usleep(1000);  // the batch that is being processed
  pthread_join(producer, &failed);
  assert_null(failed);
  for (int i = 0; i < kPuts; ++i) assert_true(functions_fetch(&f, "take") == (float)i);
  functions_close(&f);
}

// "... including accumulating many gradients in order to compute some more complex combination of
// gradients over a larger batch".
static void paper_4_6__gradients_accumulate(void** state) {
  functions_t f = functions_open(X("FLOAT") NODE("w", "Const", "", FLOAT("3"))
                                 NODE("error", "Sub", IN("w") IN("x"), TYPE("T", "FLOAT"))
                                 NODE("loss", "Square", IN("error"), TYPE("T", "FLOAT"))
                                 QUEUE("q", "FIFOQueueV2", "FLOAT", "")
                                 TAKE_MANY("batch", "q", "4", "FLOAT"));
  TF_Output loss = functions_output(&f, "loss", 0), w = functions_output(&f, "w", 0), slope;
  TF_AddGradients(f.graph, &loss, 1, &w, 1, NULL, f.status, &slope);
  kit_ok(f.status);
  TF_OperationDescription* desc = TF_NewOperation(f.graph, "QueueEnqueueV2", "put");
  TF_AddInput(desc, functions_output(&f, "q", 0));
  TF_AddInputList(desc, &slope, 1);
  kit_finish(desc);
  for (int i = 0; i < 4; ++i) assert_int_equal(put(&f, "put", kit_float((float)i), 0), TF_OK);
  assert_true(sum_of(functions_run(&f, "batch", 0, NULL, NULL)) == 2 * (3 + 2 + 1 + 0));
  functions_close(&f);
}

// "... or to group different input sentences for recurrent language models into bins of sentences
// that are approximately the same length".
static void paper_4_6__sentences_are_grouped_by_length(void** state) {
  static const char* const kSentences[] = {"a long one", "short", "tiny", "another long one"};
  functions_t f = functions_open(
      X("STRING") QUEUE("long", "FIFOQueueV2", "STRING", "")
      QUEUE("short", "FIFOQueueV2", "STRING", "")
      NODE("length", "StringLength", IN("x"), "") NODE("most", "Const", "", INT32("8"))
      NODE("is_short", "Less", IN("length") IN("most"), TYPE("T", "INT32"))
      NODE("s", "Switch", IN("x") IN("is_short"), TYPE("T", "STRING"))
      PUT("put_long", "long", "s", "STRING") PUT("put_short", "short", "s:1", "STRING")
      NODE("put", "NoOp", IN("^put_long") IN("^put_short"), "")
      TAKE_MANY("long_ones", "long", "2", "STRING")
      TAKE_MANY("short_ones", "short", "2", "STRING"));
  // A step that puts into one queue only: the other Enqueue is dead.
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(put(&f, "put", kit_string(kSentences[i]), 0), TF_OK);
  }
  for (int bin = 0; bin < 2; ++bin) {
    TF_Tensor* batch = functions_run(&f, bin ? "short_ones" : "long_ones", 0, NULL, NULL);
    const TF_TString* items = TF_TensorData(batch);
    for (int i = 0; i < 2; ++i) assert_int_equal(TF_StringGetSize(&items[i]) < 8, bin);
    TF_DeleteTensor(batch);
  }
  functions_close(&f);
}

// "... a shuffling queue is implemented, which randomly shuffles its elements within a large
// in-memory buffer."
static void paper_4_6__a_shuffling_queue_shuffles(void** state) {
  functions_t f = functions_open(
      QUEUE("q", "RandomShuffleQueueV2", "FLOAT", " attr { key: 'seed' value { i: 7 } }"
            " attr { key: 'min_after_dequeue' value { i: 40 } }")
      X("FLOAT") PUT("put", "q", "x", "FLOAT") TAKE("take", "q", "FLOAT"));
  float last = -1;
  int seen[kPuts] = {0}, descents = 0;
  assert_null(put_numbers(&f));
  for (int i = 0; i < kPuts - 40; ++i) {
    float value = functions_fetch(&f, "take");
    ++seen[(int)value];
    descents += value < last;
    last = value;
  }
  for (int i = 0; i < kPuts; ++i) assert_in_range(seen[i], 0, 1);
  assert_in_range(descents, 50, 110);  // some half of 160
  assert_int_equal(functions_try(&f, "take", NULL, 30), TF_DEADLINE_EXCEEDED);  // 40 stay
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paper_4_6__parts_run_at_different_cadences),
      cmocka_unit_test(paper_4_6__operations_block_until_they_can_be_done),
      cmocka_unit_test(paper_4_6__input_is_prefetched),
      cmocka_unit_test(paper_4_6__gradients_accumulate),
      cmocka_unit_test(paper_4_6__sentences_are_grouped_by_length),
      cmocka_unit_test(paper_4_6__a_shuffling_queue_shuffles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

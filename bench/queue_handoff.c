// What it costs to hand a scalar from one thread to another through a FIFOQueue: a thread enqueues,
// another dequeues, each by TF_SessionRun. The library is loaded from the folder argv[1] at run
// time, so that the same program measures this library and TensorFlow's own. The time holds two
// steps of a session and the waking of a thread that waits, which is what a queue in a training
// program costs at least. The first of nine rounds is short and warms up the sessions' signatures.
// Prints one line, which bench/run.py reads.
#include <pthread.h>
#include <string.h>

#include "program.h"
#include "tensorflow/c/c_api.h"

#define FUNCTIONS(X)                                                                           \
  X(TF_NewStatus) X(TF_GetCode) X(TF_Message) X(TF_NewGraph) X(TF_NewOperation)                \
  X(TF_SetAttrTypeList) X(TF_SetAttrType) X(TF_SetAttrInt) X(TF_SetAttrTensor) X(TF_AddInput)  \
  X(TF_AddInputList) X(TF_FinishOperation) X(TF_AllocateTensor) X(TF_TensorData)               \
  X(TF_DeleteTensor) X(TF_NewSessionOptions) X(TF_NewSession) X(TF_SessionRun)
#define DECLARE(name) static __typeof__(&name) name##_;
FUNCTIONS(DECLARE)

static TF_Status* status;
static TF_Session* session;
static TF_Operation* enqueue;
static TF_Output element;
static int count;

static void check(TF_Status* s) {
  if (TF_GetCode_(s) == TF_OK) return;
  fprintf(stderr, "%s\n", TF_Message_(s));
  exit(1);
}

static TF_Operation* finish(TF_OperationDescription* description) {
  TF_Operation* operation = TF_FinishOperation_(description, status);
  check(status);
  return operation;
}

static void build(TF_Graph* graph) {
  const TF_DataType type = TF_FLOAT;
  TF_OperationDescription* d = TF_NewOperation_(graph, "FIFOQueueV2", "queue");
  TF_SetAttrTypeList_(d, "component_types", &type, 1);
  TF_SetAttrInt_(d, "capacity", 64);
  TF_Output queue = {finish(d), 0};
  TF_Tensor* value = TF_AllocateTensor_(TF_FLOAT, NULL, 0, sizeof(float));
  *(float*)TF_TensorData_(value) = 2.5f;
  d = TF_NewOperation_(graph, "Const", "value");
  TF_SetAttrType_(d, "dtype", TF_FLOAT);
  TF_SetAttrTensor_(d, "value", value, status);
  TF_Output constant = {finish(d), 0};
  d = TF_NewOperation_(graph, "QueueEnqueueV2", "enqueue");
  TF_AddInput_(d, queue);
  TF_AddInputList_(d, &constant, 1);
  enqueue = finish(d);
  d = TF_NewOperation_(graph, "QueueDequeueV2", "dequeue");
  TF_AddInput_(d, queue);
  TF_SetAttrTypeList_(d, "component_types", &type, 1);
  element = (TF_Output){finish(d), 0};
}

static void* produce(void* unused) {
  TF_Status* s = TF_NewStatus_();
  const TF_Operation* target = enqueue;
  for (int i = 0; i < count; ++i) {
    TF_SessionRun_(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, s);
    check(s);
  }
  return unused;
}

static float consume(void) {
  float last = 0;
  for (int i = 0; i < count; ++i) {
    TF_Tensor* value = NULL;
    TF_SessionRun_(session, NULL, NULL, NULL, 0, &element, &value, 1, NULL, 0, NULL, status);
    check(status);
    last = *(float*)TF_TensorData_(value);
    TF_DeleteTensor_(value);
  }
  return last;
}

int main(int argc, char** argv) {
  void* library = open_library(argc, argv);
#define LOAD(name) name##_ = (__typeof__(&name))dlsym(library, #name);
  FUNCTIONS(LOAD)
  status = TF_NewStatus_();
  TF_Graph* graph = TF_NewGraph_();
  build(graph);
  session = TF_NewSession_(graph, TF_NewSessionOptions_(), status);
  check(status);
  double samples[SAMPLES];
  float last = 0;
  for (int i = 0; i < SAMPLES; ++i) {
    count = i ? 20000 : 100;
    pthread_t producer;
    double start = now_us();
    pthread_create(&producer, NULL, produce, NULL);
    last = consume();
    pthread_join(producer, NULL);
    samples[i] = (now_us() - start) / count;
  }
  print_samples("queue_handoff", samples, last);
  return 0;
}

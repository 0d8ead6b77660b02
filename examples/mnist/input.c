// Input that prepares itself while the model trains: queues between the stages, each stage run by
// queue runners. The file names come round again and again, readers turn records into pictures, and
// a shuffling queue gives batches. The training step dequeues a batch and waits only where the
// stages are slower than it. The files are written first, in a format of one byte for the label and
// one for each pixel. A coordinator stops all threads at the end, or when one of them fails.
//
//   file names -> [queue] -> reader -> bytes -> pixels, labels -> [shuffling queue] -> batches
#include <stdio.h>

#include "mnist.h"

#define FILES 3
#define RECORD (1 + PIXELS)  // bytes: the label, the pixels from 0 to 255
#define READERS 2            // threads

static void file_name(const char* directory, int index, char* path, size_t size) {
  snprintf(path, size, "%s/digits-%d.records", directory, index);
}

// ---- Files --------------------------------------------------------------------------------------

static int write_file(const char* path, const dataset_t* set, int first) {
  FILE* file = fopen(path, "wb");
  if (!file) return 0;
  int ok = 1;
  for (int i = first; ok && i < set->count; i += FILES) {
    unsigned char record[RECORD] = {(unsigned char)set->labels[i]};
    for (int k = 0; k < PIXELS; ++k) {
      record[1 + k] = (unsigned char)(255 * set->pixels[(size_t)i * PIXELS + k] + 0.5f);
    }
    ok = fwrite(record, RECORD, 1, file) == 1;
  }
  return fclose(file) == 0 && ok;
}

int input_write(const char* directory, const dataset_t* set) {
  for (int i = 0; i < FILES; ++i) {
    char path[1024];
    file_name(directory, i, path, sizeof path);
    if (!write_file(path, set, i)) return 0;
  }
  return 1;
}

// ---- The graph ----------------------------------------------------------------------------------

static TF_Output add(leat_scope_t* s, const char* op, const TF_Output* inputs, int input_count,
                     const leat_attribute_t* attributes, int attribute_count) {
  return (TF_Output){
      leat_operation(s, op, NULL, inputs, input_count, attributes, attribute_count), 0};
}

// A queue of the files' names, which its runner fills again and again.
static TF_Output file_names(leat_scope_t* s, const char* directory, input_t* input) {
  const TF_DataType type = TF_STRING;
  leat_attribute_t attributes[] = {leat_attribute_types("component_types", 1, &type),
                                   leat_attribute_int("capacity", 2 * FILES)};
  TF_Output queue = add(s, "FIFOQueueV2", NULL, 0, attributes, 2), names[FILES];
  for (int i = 0; i < FILES; ++i) {
    char path[1024];
    file_name(directory, i, path, sizeof path);
    names[i] = leat_constant_string(s, path);
  }
  TF_Output inputs[] = {queue, add(s, "Pack", names, FILES, NULL, 0)};
  TF_Operation* enqueue = leat_operation(s, "QueueEnqueueManyV2", NULL, inputs, 2, NULL, 0);
  input->runners[input->runner_count++] =
      leat_queue_runner_create(s, queue, &enqueue, 1, NULL, NULL);
  return queue;
}

// One thread's work: BATCH records read, decoded and put into |queue|.
static TF_Operation* read_into(leat_scope_t* s, TF_Output names, TF_Output queue) {
  leat_attribute_t size = leat_attribute_int("record_bytes", RECORD);
  leat_attribute_t type = leat_attribute_type("out_type", TF_UINT8);
  int64_t count = BATCH;
  TF_Output read[] = {add(s, "FixedLengthRecordReaderV2", NULL, 0, &size, 1), names,
                      leat_constant(s, TF_INT64, 0, NULL, &count)};
  TF_Output records = {leat_operation(s, "ReaderReadUpToV2", NULL, read, 3, NULL, 0), 1};
  TF_Output split[] = {add(s, "DecodeRaw", &records, 1, &type, 1),
                       leat_constant_ints(s, 2, (int32_t[]){1, PIXELS}), leat_constant_int(s, 1)};
  leat_attribute_t parts = leat_attribute_int("num_split", 2);
  TF_Output label = add(s, "SplitV", split, 3, &parts, 1), pixels = {label.oper, 1};
  TF_Output inputs[] = {queue,
                        leat_multiply(s, leat_cast(s, pixels, TF_FLOAT),
                                      leat_constant_float(s, 1 / 255.0f)),
                        leat_cast(s, leat_reshape(s, label, 1, (int64_t[]){-1}), TF_INT32)};
  return leat_operation(s, "QueueEnqueueManyV2", NULL, inputs, 3, NULL, 0);
}

// |value|, unless something is fed here.
static TF_Output unless_fed(leat_scope_t* s, const char* name, TF_Output value, int rank) {
  leat_attribute_t shape = leat_attribute_shape("shape", rank, ((int64_t[]){-1, PIXELS}));
  return (TF_Output){leat_operation(s, "PlaceholderWithDefault", name, &value, 1, &shape, 1), 0};
}

void input_build(leat_scope_t* scope, const char* directory, input_t* input) {
  const TF_DataType types[] = {TF_FLOAT, TF_INT32};
  const int ranks[] = {1, 0};
  const int64_t dims[] = {PIXELS};
  leat_scope_t* s = leat_scope_enter(scope, "input");
  TF_Output names = file_names(s, directory, input);
  // A batch is drawn from at least 4,096 digits, so that it mixes what stood together in a file.
  leat_attribute_t attributes[] = {leat_attribute_types("component_types", 2, types),
                                   leat_attribute_shapes("shapes", 2, ranks, dims),
                                   leat_attribute_int("capacity", 8192),
                                   leat_attribute_int("min_after_dequeue", 4096)};
  TF_Output queue = add(s, "RandomShuffleQueueV2", NULL, 0, attributes, 4);
  TF_Operation* readers[READERS];
  for (int i = 0; i < READERS; ++i) readers[i] = read_into(s, names, queue);
  input->runners[input->runner_count++] =
      leat_queue_runner_create(s, queue, readers, READERS, NULL, NULL);
  TF_Output take[] = {queue, leat_constant_int(s, BATCH)};
  TF_Output images = add(s, "QueueDequeueManyV2", take, 2, attributes, 1);
  TF_Output labels = {images.oper, 1};
  input->images = unless_fed(s, "images", images, 2);
  input->labels = unless_fed(s, "labels", labels, 1);
  leat_scope_free(s);
}

void input_free(input_t* input) {
  for (int i = 0; i < input->runner_count; ++i) leat_queue_runner_free(input->runners[i]);
}

// TF_CheckpointReader: the reader of leat/files.h under TensorFlow's names. A handle is a
// leat_checkpoint_t.
#include <string.h>

#include "capi/handles.h"
#include "leat/files.h"
#include "tensorflow/c/c_api_experimental.h"

static leat_checkpoint_t* checkpoint_of(TF_CheckpointReader* reader) {
  return (leat_checkpoint_t*)reader;
}

TF_CheckpointReader* TF_NewCheckpointReader(const char* filename, TF_Status* status) {
  return (TF_CheckpointReader*)leat_checkpoint_open(filename ? filename : "", status);
}

void TF_DeleteCheckpointReader(TF_CheckpointReader* reader) {
  leat_checkpoint_close(checkpoint_of(reader));
}

int TF_CheckpointReaderSize(TF_CheckpointReader* reader) {
  return (int)leat_checkpoint_count(checkpoint_of(reader));
}

const char* TF_CheckpointReaderGetVariable(TF_CheckpointReader* reader, int index) {
  return index < 0 ? NULL : leat_checkpoint_name(checkpoint_of(reader), (size_t)index);
}

// Finds the tensor |name| by binary search, since the names are sorted. SIZE_MAX where there is
// none.
static size_t find(TF_CheckpointReader* reader, const char* name) {
  size_t low = 0, high = leat_checkpoint_count(checkpoint_of(reader));
  while (name && low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(leat_checkpoint_name(checkpoint_of(reader), middle), name);
    if (order == 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return SIZE_MAX;
}

int TF_CheckpointReaderHasTensor(TF_CheckpointReader* reader, const char* name) {
  return find(reader, name) != SIZE_MAX;
}

TF_DataType TF_CheckpointReaderGetVariableDataType(TF_CheckpointReader* reader, const char* name) {
  TF_DataType dtype = (TF_DataType)0;
  leat_checkpoint_shape(checkpoint_of(reader), find(reader, name), &dtype, NULL, 0);
  return dtype;
}

int TF_CheckpointReaderGetVariableNumDims(TF_CheckpointReader* reader, const char* name) {
  return leat_checkpoint_shape(checkpoint_of(reader), find(reader, name), NULL, NULL, 0);
}

void TF_CheckpointReaderGetVariableShape(TF_CheckpointReader* reader, const char* name,
                                         int64_t* dims, int num_dims, TF_Status* status) {
  int rank = leat_checkpoint_shape(checkpoint_of(reader), find(reader, name), NULL, dims, num_dims);
  leat_status_t result = leat_ok_status();
  if (rank != num_dims) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT, "Variable '%s' has rank %d, asked for are %d",
                              name ? name : "", rank, num_dims);
  }
  leat_capi_status_set(status, result);
}

TF_Tensor* TF_CheckpointReaderGetTensor(TF_CheckpointReader* reader, const char* name,
                                        TF_Status* status) {
  return leat_checkpoint_read(checkpoint_of(reader), name ? name : "", status);
}

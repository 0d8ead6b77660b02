// Hashes of datasets, which tell apart what datasets are made of (ops/dataset/dataset_cpu.h). A
// snapshot is found again by the hash of the dataset whose elements it holds, so that equal
// pipelines must have equal hashes in every process. When a kernel makes a dataset, the hash of its
// node is taken: of the op, the attributes and those inputs that the dataset does not keep. The
// tensors that it keeps, which may be large, and the datasets below are added when somebody asks.
#include <string.h>

#include "base/fingerprint.h"
#include "ops/dataset/dataset_cpu.h"

static uint64_t hash_bytes(uint64_t hash, const void* data, size_t size) {
  return leat_hash_mix(hash, leat_fingerprint64(leat_string_view_make(data, size)));
}

// Of the type, the shape and the elements. Of variants and resources nothing is known but that.
static uint64_t hash_tensor(uint64_t hash, const leat_tensor_t* tensor) {
  const leat_shape_t* shape = &tensor->shape;
  hash = leat_hash_mix(hash, (uint64_t)tensor->dtype);
  hash = hash_bytes(hash, leat_shape_dims(shape), (size_t)shape->rank * sizeof(int64_t));
  if (tensor->dtype == LEAT_DTYPE_VARIANT || tensor->dtype == LEAT_DTYPE_RESOURCE) return hash;
  if (tensor->dtype != LEAT_DTYPE_STRING) {
    return hash_bytes(hash, tensor->data,
                      (size_t)shape->element_count * leat_dtype_size(tensor->dtype));
  }
  for (int64_t i = 0; i < shape->element_count; ++i) {
    const leat_string_view_t text = leat_tensor_string_at(tensor, i);
    hash = hash_bytes(hash, text.data, text.size);
  }
  return hash;
}

// Whether |dataset| has kept |input| among its tensors, whose hashes are taken when they are asked
// for: they may be large.
static bool keeps(const leat_dataset_t* dataset, const leat_tensor_t* input) {
  for (int i = 0; i < dataset->tensor_count; ++i) {
    if (input->data && dataset->tensors[i].data == input->data) return true;
  }
  return false;
}

// The fingerprint of an op's name is the same in each version; inputs that are references have no
// part in datasets.
uint64_t leat_dataset_node_hash(const leat_kernel_context_t* c, const leat_dataset_t* dataset) {
  const leat_string_view_t op = c->kernel->op->name;
  uint64_t hash = hash_bytes(c->kernel->attr_hash, op.data, op.size);
  for (int i = 0; i < leat_kernel_input_count(c); ++i) {
    const leat_tensor_t* input = leat_kernel_input(c, i);
    if (!keeps(dataset, input)) hash = hash_tensor(hash, input);
  }
  return hash;
}

// A dataset may stand below another one in many ways, so that each keeps its hash. Two threads that
// work out the same one come to the same number.
uint64_t leat_dataset_hash(leat_dataset_t* dataset) {
  uint64_t hash = atomic_load_explicit(&dataset->hash, memory_order_relaxed);
  if (hash) return hash;
  hash = hash_bytes(dataset->node_hash, dataset->kind->name, strlen(dataset->kind->name));
  for (int i = 0; i < dataset->tensor_count; ++i) hash = hash_tensor(hash, &dataset->tensors[i]);
  for (int i = 0; i < dataset->input_count; ++i) {
    hash = leat_hash_mix(hash, leat_dataset_hash(dataset->inputs[i]));
  }
  hash += !hash;
  atomic_store_explicit(&dataset->hash, hash, memory_order_relaxed);
  return hash;
}

// What the parts of the example share: a labelled set of 28 x 28 pictures, and the two models.
#ifndef LEAT_EXAMPLES_MNIST_H_
#define LEAT_EXAMPLES_MNIST_H_

#include "leat/train.h"

#define SIDE 28
#define PIXELS (SIDE * SIDE)
#define CLASSES 10

typedef struct {
  int count;
  float* pixels;    // [count, PIXELS], 0 (paper) to 1 (ink)
  int32_t* labels;  // [count]
} dataset_t;

// Digits drawn by strokes with slant, thickness, shift and noise: the same for the same |seed|.
int digits_render(int count, uint32_t seed, dataset_t* out);
// MNIST's IDX files, gzipped, in |directory|; |part| is "train" or "t10k". 0 when they are absent.
int idx_read(const char* directory, const char* part, dataset_t* out);
void dataset_free(dataset_t* set);

// A model in a graph of its own.
typedef struct {
  TF_Graph* graph;
  leat_scope_t* scope;
  TF_Output images;  // float [batch, PIXELS]
  TF_Output labels;  // int32 [batch]
  TF_Output keep;    // float: the share that dropout keeps
  TF_Output rate;    // float: of learning
  TF_Output logits;  // [batch, CLASSES]
  TF_Output loss;
  TF_Operation* train;
  TF_Operation* init;
} model_t;

// The kinds of model: "mlp" or "cnn". The status of |out->scope| says whether it was built.
void model_build(const char* kind, model_t* out);
void model_free(model_t* model);

#endif  // LEAT_EXAMPLES_MNIST_H_

// What the parts of the example share: a labelled set of 28 x 28 pictures, and the models.
#ifndef LEAT_EXAMPLES_MNIST_H_
#define LEAT_EXAMPLES_MNIST_H_

#include "leat/input.h"
#include "leat/train.h"

#define SIDE 28
#define PIXELS (SIDE * SIDE)
#define CLASSES 10
#define BATCH 64

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

// A stream of shuffled batches, read from files by threads of its own while the model trains. Where
// images and labels are fed, those are taken instead.
typedef struct {
  TF_Output images, labels;
  leat_queue_runner_t* runners[2];
  int runner_count;
} input_t;

// Writes |set| as records into a few files in |directory|. 0 when it cannot.
int input_write(const char* directory, const dataset_t* set);
// Adds what reads them, for ever, to the graph.
void input_build(leat_scope_t* s, const char* directory, input_t* out);
void input_free(input_t* input);

// A model in a graph of its own.
typedef struct {
  TF_Graph* graph;
  leat_scope_t* scope;
  TF_Output images;  // float [batch, PIXELS]
  TF_Output labels;  // int32 [batch]
  TF_Output keep;    // float: the share that dropout keeps
  TF_Output rate;    // float: of learning
  float first_rate;  // of the first step
  TF_Output logits;  // [batch, CLASSES]
  TF_Output loss;
  TF_Operation* train;
  TF_Operation* init;
  input_t input;     // without runners: images and labels must be fed
} model_t;

// The kinds of model: "softmax", "mlp" or "cnn". |records| is the directory of input_write, or
// NULL. The status of |out->scope| says whether it was built.
void model_build(const char* kind, const char* records, model_t* out);
void model_free(model_t* model);

#endif  // LEAT_EXAMPLES_MNIST_H_

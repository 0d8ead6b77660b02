// Four ways to train on several devices (sections 4.4 and 7 of the white paper), over one small
// problem: points on a spiral of three arms, told apart by a perceptron.
#ifndef LEAT_EXAMPLES_PARALLEL_H_
#define LEAT_EXAMPLES_PARALLEL_H_

#include "leat/callable.h"
#include "leat/inspect.h"
#include "leat/train.h"

#define DEVICES 4
#define PROCESSORS "CPU:4"  // as many
#define POINTS 240
#define CLASSES 3
#define HIDDEN 64
#define WAYS 4

typedef struct {
  TF_Graph* graph;
  leat_scope_t* scope;
  TF_Session* session;
  TF_Status* status;
} program_t;

// Each returns 0 when what it prints is as it should be.
int run_synchronous(void);
int run_asynchronous(void);
int run_layers(void);
int run_concurrent(void);

program_t program_begin(void);
// Opens the session on |devices| ("CPU:4") and initialises the variables made.
void program_open(program_t* p, const char* devices);
void program_end(program_t* p);
// Leaves when there was an error.
void program_check(const program_t* p, const char* what);
// A scope on the processor of that number.
leat_scope_t* on_device(leat_scope_t* s, int device);

// Every |parts|-th point from |part| on: float [n, 2], int32 [n].
TF_Output points(leat_scope_t* s, int part, int parts);
TF_Output labels(leat_scope_t* s, int part, int parts);

// A layer's variables, which several layers may use.
typedef struct { TF_Output weights, bias; } layer_t;
layer_t layer_make(leat_scope_t* s, const char* name, int in, int out);
TF_Output layer_apply(leat_scope_t* s, layer_t layer, TF_Output x);

// Runs a callable that fetches one number; any thread may.
float run_number(leat_callable_t* step);
leat_callable_t* prepare(const program_t* p, TF_Output number, TF_Operation* target);

#endif  // LEAT_EXAMPLES_PARALLEL_H_

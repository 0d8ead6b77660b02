// The parts of leat diff: what is compared (diff_order.c), and how it is told (diff_report.c).
#ifndef LEAT_TOOLS_DIFF_H_
#define LEAT_TOOLS_DIFF_H_

#include "difference.h"
#include "model.h"
#include "recording.h"

// An operation of the first graph that the step needs.
typedef struct diff_node_s {
  TF_Operation* operation;
  bool is_inside;  // within a loop or a branch, whose values no step gives
  int frames, branches;  // how many loops and branches it is within
} diff_node_t;

// A tensor that both sides have.
typedef struct diff_value_s {
  int node;            // index of its operation in the order
  TF_Output a, b;      // |b| has no operation where the second side is a recording
  char* name;          // of the tensor in the second side
  TF_Tensor *a_value, *b_value;
  difference_t difference;
} diff_value_t;

typedef struct diff_s {
  model_t a, b;
  recording_t* recording;  // instead of |b|
  const char *a_path, *b_path;
  const char *rename_from, *rename_to;  // what names of the first graph begin with, and the
                                        // second's instead; NULL: the same names
  diff_node_t* nodes;      // in an order in which each comes after all that it reads
  int node_count;
  diff_value_t* values;    // in the order of their nodes
  int value_count;
  int missing_count;       // nodes of the order that the second side has not
  const TF_Operation* missing;  // the first of them
  int step;                // that was compared last
  int first;               // index of the first value that differs; -1: none does
} diff_t;

// A step of the first graph.
typedef struct diff_step_s {
  const TF_Output *feeds, *fetches;
  const TF_Operation* const* targets;
  int feed_count, fetch_count, target_count;
} diff_step_t;

// Lists what the fetches and targets of |step| need; without any, what the operations need that no
// other reads. Nothing is needed for what is fed. Returns false without memory.
bool diff_order(diff_t* diff, const diff_step_t* step);
// The name of a tensor in the second side, which the caller frees.
char* diff_name_of(const diff_t* diff, TF_Output output);
// The index of an operation in the order; -1 where it is not in it.
int diff_find(const diff_t* diff, const TF_Operation* operation);

void diff_report(const diff_t* diff);
void diff_report_json(const diff_t* diff);
// Draws the nodes around the first that differs. Returns an exit code.
int diff_draw(const diff_t* diff, const char* path);

#endif  // LEAT_TOOLS_DIFF_H_

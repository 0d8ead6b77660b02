// A small training under a supervisor, for tests of what interrupts it. Each loss depends on all
// updates before it, and what is fed on the number of the step alone, so that a step has the same
// loss, to the bit, in each run that went on where an earlier one was interrupted. The losses of an
// undisturbed training come from a loop of plain steps.
#ifndef LEAT_TESTS_CLIENT_TRAINING_H_
#define LEAT_TESTS_CLIENT_TRAINING_H_

#include "capi/kit.h"
#include "leat/supervisor.h"

#define TRAINING_STEPS 40
#define TRAINING_SAVES 10  // steps from save to save

typedef struct training_s {
  TF_Graph* graph;
  leat_scope_t* scope;
  leat_saver_t* saver;  // into "ckpt"
  TF_Output phase, loss, step, summary;
  TF_Operation *train, *init;
  TF_Status* status;
  leat_supervisor_spec_t spec;  // a chief's; tests change it
  leat_supervisor_t* supervisor;  // between training_begin and training_end
  char events[2048];            // "initialized 0; opened 0; saved 0; ..." as they came
  char message[512];            // of the last event that had one
  void (*on_event)(struct training_s* training, const leat_supervisor_event_t* event);
  void* data;  // of the test
} training_t;

// Builds the graph with its variables on the device |variables| and the rest on |others| ("": the
// placer chooses).
void training_open(training_t* training, const char* variables, const char* others);
void training_close(training_t* training);

// Takes all steps in a plain session at |target|, and keeps their losses.
void training_reference(training_t* training, const char* target, float losses[TRAINING_STEPS]);

void training_begin(training_t* training);
// Feeds and runs step |step|. Returns whether it was done; its loss is |expected| (NULL: any).
int training_step(training_t* training, int64_t step, const float* expected);
// Closes the supervisor, of which |code| must come, with |text| in its message.
void training_end(training_t* training, TF_Code code, const char* text);
// All three, with each step's loss expected; returns how many steps were done.
int training_run(training_t* training, const float losses[TRAINING_STEPS]);
// The events must be these.
void training_expect_events(const training_t* training, const char* events);

#endif  // LEAT_TESTS_CLIENT_TRAINING_H_

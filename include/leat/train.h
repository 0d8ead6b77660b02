/* leat/train.h: what training needs beside TensorFlow's C API: variables, optimizers, a saver.
 * examples/mnist is a whole program.
 *
 * Everything adds ordinary operations to the graph (TensorFlow's own names and semantics), so
 * that a graph built here runs on TensorFlow and its checkpoints are TensorFlow's.
 *
 *   TF_Output w = leat_variable(s, "w", TF_FLOAT, 1, (int64_t[]){1}, leat_initializer_constant(5));
 *   TF_Output loss = leat_mean(s, leat_multiply(s, w, w));
 *   TF_Operation* train = leat_minimize(s, leat_optimizer_sgd(0.1f), loss);
 *   TF_Operation* init = leat_variables_initializer(s);
 *   leat_target_run(session, init, status);
 *   for (int i = 0; i < 100; ++i) leat_target_run(session, train, status);   // w -> 0 */
#ifndef LEAT_TRAIN_H_
#define LEAT_TRAIN_H_

#include "leat/graph.h"
#include "leat/saved_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Variables ------------------------------------------------------------------------------*/
typedef enum leat_initializer_kind_t {
  LEAT_INITIALIZER_CONSTANT,         /* a */
  LEAT_INITIALIZER_UNIFORM,          /* in [a, b) */
  LEAT_INITIALIZER_TRUNCATED_NORMAL, /* mean a, standard deviation b, cut at two of them */
  LEAT_INITIALIZER_GLOROT_UNIFORM,   /* by fan in and out of a matrix or filter */
  LEAT_INITIALIZER_HE_NORMAL         /* by fan in, for relu */
} leat_initializer_kind_t;
typedef struct leat_initializer_t {
  leat_initializer_kind_t kind;
  double a, b;
  int64_t seed; /* 0: a different one each run */
} leat_initializer_t;
TF_CAPI_EXPORT extern leat_initializer_t leat_initializer_constant(double value);
TF_CAPI_EXPORT extern leat_initializer_t leat_initializer_uniform(double low, double high,
                                                                  int64_t seed);
TF_CAPI_EXPORT extern leat_initializer_t leat_initializer_truncated_normal(double mean,
                                                                           double deviation,
                                                                           int64_t seed);
TF_CAPI_EXPORT extern leat_initializer_t leat_initializer_glorot_uniform(int64_t seed);
TF_CAPI_EXPORT extern leat_initializer_t leat_initializer_he_normal(int64_t seed);

/* A trainable variable of known shape under |name|, which must be new in the graph (ALREADY_EXISTS:
 * checkpoints know a variable by its name); the result can be used wherever a value can. */
TF_CAPI_EXPORT extern TF_Output leat_variable(leat_scope_t* scope, const char* name,
                                              TF_DataType dtype, int rank, const int64_t* dims,
                                              leat_initializer_t initializer);
/* The same, left alone by leat_minimize (step counters, averages). */
TF_CAPI_EXPORT extern TF_Output leat_variable_untrained(leat_scope_t* scope, const char* name,
                                                        TF_DataType dtype, int rank,
                                                        const int64_t* dims,
                                                        leat_initializer_t initializer);
/* Variables of the scope's graph, in the order of their making: count, and each one. */
TF_CAPI_EXPORT extern int leat_variable_count(const leat_scope_t* scope);
TF_CAPI_EXPORT extern TF_Output leat_variable_at(const leat_scope_t* scope, int index);
/* One operation that initialises every variable made so far (optimizers' own too). */
TF_CAPI_EXPORT extern TF_Operation* leat_variables_initializer(leat_scope_t* scope);
/* The names of those of them that have no value: strings [n], TensorFlow's
 * report_uninitialized_variables. */
TF_CAPI_EXPORT extern TF_Output leat_variables_uninitialized(leat_scope_t* scope);
/* How many steps were done: the variable "global_step" of TensorFlow's programs, an untrained int64
 * scalar that begins as 0. The first call makes it, outside of the scope's names; later ones of any
 * scope of the graph give the same. */
TF_CAPI_EXPORT extern TF_Output leat_global_step(leat_scope_t* scope);
/* Does |train| and then adds one to the global step. */
TF_CAPI_EXPORT extern TF_Operation* leat_count_step(leat_scope_t* scope, TF_Operation* train);

/* - Optimizers ----------------------------------------------------------------------------------
 * Defaults are TensorFlow's. The update rules are those of the ops ApplyGradientDescent,
 * ApplyMomentum, ApplyAdam, ApplyAdagrad and ApplyRMSProp. */
typedef enum leat_optimizer_kind_t {
  LEAT_OPTIMIZER_SGD,
  LEAT_OPTIMIZER_MOMENTUM,
  LEAT_OPTIMIZER_ADAM,
  LEAT_OPTIMIZER_ADAGRAD,
  LEAT_OPTIMIZER_RMSPROP
} leat_optimizer_kind_t;
typedef struct leat_optimizer_t {
  leat_optimizer_kind_t kind;
  float learning_rate;
  float momentum;            /* Momentum, RMSProp */
  int use_nesterov;          /* Momentum */
  float beta1, beta2;        /* Adam */
  float epsilon;             /* Adam, RMSProp */
  float decay;               /* RMSProp */
  float initial_accumulator; /* Adagrad */
  TF_Output rate;            /* a scalar instead of learning_rate, when its |oper| is set: fed, or
                                computed from a step counter */
} leat_optimizer_t;
TF_CAPI_EXPORT extern leat_optimizer_t leat_optimizer_sgd(float learning_rate);
TF_CAPI_EXPORT extern leat_optimizer_t leat_optimizer_momentum(float learning_rate, float momentum);
TF_CAPI_EXPORT extern leat_optimizer_t leat_optimizer_adam(float learning_rate);
TF_CAPI_EXPORT extern leat_optimizer_t leat_optimizer_adagrad(float learning_rate);
TF_CAPI_EXPORT extern leat_optimizer_t leat_optimizer_rmsprop(float learning_rate);
/* Adds the gradients of |loss| (a scalar) and the updates of every trainable variable that it
 * depends on; running the result does one step. No variable changes before all gradients are there.
 * INVALID_ARGUMENT when the loss depends on no variable. */
TF_CAPI_EXPORT extern TF_Operation* leat_minimize(leat_scope_t* scope, leat_optimizer_t optimizer,
                                                  TF_Output loss);

/* - Saver ---------------------------------------------------------------------------------------
 * Checkpoints <directory>/model.ckpt-<step> (TensorFlow's V2 format) and the state file
 * `checkpoint`, which is replaced last: after a crash at any point the newest whole checkpoint
 * is found.
 *
 *   leat_saver_t* saver = leat_saver_create(s, "ckpt", (leat_saver_options_t){.keep = 3,
 *                                                                            .every_steps = 100});
 *   leat_saver_restore_latest(saver, session, &step, status);   // NOT_FOUND: nothing saved yet
 *   leat_saver_step(saver, session, step, status);              // saves when it is time
 *   leat_saver_free(saver);                                                                     */
typedef struct leat_saver_t leat_saver_t;
typedef struct leat_saver_options_t {
  int keep;             /* newest checkpoints kept; 0 takes 5 */
  int64_t every_steps;  /* leat_saver_step saves when this many steps went by; 0 = not by steps */
  double every_seconds; /* or this much time; 0 = not by time */
  int64_t timeout_ms;   /* of the step that saves or restores; 0 = that of the operations */
} leat_saver_options_t;
/* Saves the variables made so far, so make it last (slots of optimizers are variables too); adds
 * its operations to the graph. The directory is made when it is first needed. NULL when the scope
 * has an error. The saver does not need the scope later on, and belongs to one thread. */
TF_CAPI_EXPORT extern leat_saver_t* leat_saver_create(leat_scope_t* scope, const char* directory,
                                                      leat_saver_options_t options);
/* The same over operations that a graph has, such as leat_meta_graph_load gives. NULL with |status|
 * set when memory is gone. */
TF_CAPI_EXPORT extern leat_saver_t* leat_saver_over(leat_saver_operations_t operations,
                                                    const char* directory,
                                                    leat_saver_options_t options,
                                                    TF_Status* status);
TF_CAPI_EXPORT extern leat_saver_operations_t leat_saver_operations(const leat_saver_t* saver);
TF_CAPI_EXPORT extern void leat_saver_free(leat_saver_t* saver);
/* A step that was saved before is replaced: it can be restored all the while, as it was until the
 * new one stands (docs/decisions/0018). */
TF_CAPI_EXPORT extern void leat_saver_save(leat_saver_t* saver, TF_Session* session, int64_t step,
                                           TF_Status* status);
/* Saves when it is time; returns 1 when it did. */
TF_CAPI_EXPORT extern int leat_saver_step(leat_saver_t* saver, TF_Session* session, int64_t step,
                                          TF_Status* status);
/* |out_step| (may be NULL) is the step in the checkpoint's name. NOT_FOUND when there is none;
 * nothing has changed then. */
TF_CAPI_EXPORT extern void leat_saver_restore_latest(leat_saver_t* saver, TF_Session* session,
                                                     int64_t* out_step, TF_Status* status);

/* ---- Running --------------------------------------------------------------------------------*/
/* Runs one operation and fetches nothing. */
TF_CAPI_EXPORT extern void leat_target_run(TF_Session* session, TF_Operation* target,
                                           TF_Status* status);
/* The same with a deadline: DEADLINE_EXCEEDED when it has not ended after |timeout_ms| milliseconds
 * (0: the session's timeout, ConfigProto.operation_timeout_in_ms). */
TF_CAPI_EXPORT extern void leat_target_run_within(TF_Session* session, TF_Operation* target,
                                                  int64_t timeout_ms, TF_Status* status);
/* TF_NewSession with a deadline: DEADLINE_EXCEEDED when the target's master, or a task of its
 * cluster, is not there after |timeout_ms| milliseconds (0: the session's timeout). */
TF_CAPI_EXPORT extern TF_Session* leat_session_create_within(TF_Graph* graph,
                                                             const TF_SessionOptions* options,
                                                             int64_t timeout_ms,
                                                             TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_TRAIN_H_ */

// mnist: trains softmax regression, a perceptron and a convolutional net on handwritten digits,
// saves them, and in another run restores two of them and classifies digits, drawn beside the
// answers. It is the example to read first: data here, the networks in model.c, files in idx.c,
// queues in input.c.
//
//   mnist train DIR       trains all, saves checkpoints DIR/softmax, DIR/mlp and DIR/cnn; goes on
//                         where it was interrupted
//   mnist classify DIR    restores mlp and cnn and shows what they see
//
// train --input queue writes the digits to files first and reads them, by threads of their own,
// while it trains (input.c); --steps N takes N steps instead of some epochs.
//
// The data are digits rendered here, or MNIST itself when LEAT_DATA_DIR holds mnist/.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "leat/callable.h"
#include "leat/supervisor.h"
#include "mnist.h"

#define SHOWN 8   // digits drawn at the end,
#define IN_ROW 4  // so many beside one another

static void fail(const char* what, const TF_Status* status) {
  fprintf(stderr, "mnist: %s: %s\n", what, TF_Message(status));
  exit(1);
}

static void check(const char* what, const TF_Status* status) {
  if (TF_GetCode(status) != TF_OK) fail(what, status);
}

static double seconds(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// ---- Data ---------------------------------------------------------------------------------------

static void load(const char* part, dataset_t* out) {
  const char* data = getenv("LEAT_DATA_DIR");
  char directory[1024];
  snprintf(directory, sizeof directory, "%s/mnist", data ? data : "");
  if (data && idx_read(directory, part, out)) return;
  int is_test = strcmp(part, "t10k") == 0;
  if (digits_render(is_test ? 4000 : 30000, is_test ? 2 : 1, out)) return;
  fprintf(stderr, "mnist: no memory for the digits\n");
  exit(1);
}

// Fisher and Yates.
static void shuffle(int* order, int count, uint32_t* state) {
  for (int i = count - 1; i > 0; --i) {
    *state = *state * 1664525u + 1013904223u;
    int k = (int)((uint64_t)(*state) * (uint64_t)(i + 1) >> 32), swap = order[i];
    order[i] = order[k];
    order[k] = swap;
  }
}

// ---- Running a model ----------------------------------------------------------------------------

typedef struct {
  model_t model;
  TF_Session* session;
  leat_saver_t* saver;
  leat_callable_t* step;  // of training
  TF_Status* status;
} runner_t;

static void open_runner(const char* kind, const char* directory, const char* records,
                        runner_t* r) {
  char checkpoints[1024];
  snprintf(checkpoints, sizeof checkpoints, "%s/%s", directory, kind);
  *r = (runner_t){.status = TF_NewStatus()};
  model_build(kind, records, &r->model);
  r->saver = leat_saver_create(r->model.scope, checkpoints,
                               (leat_saver_options_t){.keep = 2, .every_seconds = 60});
  check("building the graph", leat_scope_status(r->model.scope));
}

static void close_runner(runner_t* r) {
  leat_saver_free(r->saver);
  model_free(&r->model);
  TF_DeleteStatus(r->status);
}

static leat_array_t array(TF_DataType dtype, int rank, int64_t rows, int64_t columns, void* data,
                          size_t size) {
  return (leat_array_t){dtype, rank, {rows, columns}, data, size};
}

// The logits of |count| pictures.
static void predict(runner_t* r, const float* pixels, int count, float* logits) {
  model_t* m = &r->model;
  float all = 1;
  leat_callable_t* f = leat_callable_create(r->session, (TF_Output[]){m->images, m->keep}, 2,
                                            &m->logits, 1, NULL, 0, r->status);
  check("preparing a prediction", r->status);
  for (int i = 0; i < count; i += BATCH) {
    int n = count - i < BATCH ? count - i : BATCH;
    leat_array_t feeds[] = {
        array(TF_FLOAT, 2, n, PIXELS, (void*)(pixels + (size_t)i * PIXELS),
              (size_t)n * PIXELS * sizeof(float)),
        array(TF_FLOAT, 0, 0, 0, &all, sizeof all)};
    leat_array_t fetch = array(TF_FLOAT, 2, 0, 0, logits + (size_t)i * CLASSES,
                               (size_t)n * CLASSES * sizeof(float));
    leat_callable_run(f, feeds, &fetch, r->status);
    check("predicting", r->status);
  }
  leat_callable_free(f);
}

static int best(const float* logits) {
  int index = 0;
  for (int k = 1; k < CLASSES; ++k) {
    if (logits[k] > logits[index]) index = k;
  }
  return index;
}

static double accuracy(runner_t* r, const dataset_t* set) {
  float* logits = malloc((size_t)set->count * CLASSES * sizeof *logits);
  int right = 0;
  if (!logits) return 0;
  predict(r, set->pixels, set->count, logits);
  for (int i = 0; i < set->count; ++i) {
    right += best(logits + (size_t)i * CLASSES) == set->labels[i];
  }
  free(logits);
  return (double)right / set->count;
}

// ---- Training -----------------------------------------------------------------------------------

static void show_progress(const char* kind, int step, int steps, double loss, double begun) {
  char bar[31];
  int full = 30 * step / steps;
  if (!isatty(STDERR_FILENO)) return;
  for (int i = 0; i < 30; ++i) bar[i] = i < full ? '#' : '.';
  bar[30] = 0;
  fprintf(stderr, "\r%s [%s] step %d/%d  loss %.4f  %.0f s ", kind, bar, step, steps, loss,
          seconds() - begun);
  if (step == steps) fputc('\n', stderr);
}

static void gather(const dataset_t* set, const int* order, float* pixels, int32_t* labels) {
  for (int i = 0; i < BATCH; ++i) {
    memcpy(pixels + (size_t)i * PIXELS, set->pixels + (size_t)order[i] * PIXELS,
           PIXELS * sizeof(float));
    labels[i] = set->labels[order[i]];
  }
}

// Prepares the training step on a session.
static void prepare(void* data, TF_Session* session, TF_Status* status) {
  runner_t* r = data;
  model_t* m = &r->model;
  const TF_Operation* target = m->train;
  TF_Output fed[] = {m->images, m->labels, m->keep, m->rate};
  int skipped = m->input.runner_count ? 2 : 0;
  r->step = leat_callable_create(session, fed + skipped, 4 - skipped, &m->loss, 1, &target, 1,
                                 status);
}

static void forget(void* data, TF_Session* session) { leat_callable_free(((runner_t*)data)->step); }

// Digits in an order of their own for each epoch, which a program that goes on in its middle finds
// again.
static void begin_epoch(int* order, int count, int epoch) {
  uint32_t random = 7 + (uint32_t)epoch;
  for (int i = 0; i < count; ++i) order[i] = i;
  shuffle(order, count, &random);
}

// Takes the steps that are left of |steps|; batches come from |set|, or from the model's own input
// when it has one.
static void train(runner_t* r, leat_supervisor_t* supervisor, const char* kind,
                  const dataset_t* set, int steps, float keep) {
  static float pixels[BATCH * PIXELS];
  static int32_t labels[BATCH];
  int skipped = r->model.input.runner_count ? 2 : 0;
  float loss = 0, rate = 0;
  leat_array_t feeds[] = {array(TF_FLOAT, 2, BATCH, PIXELS, pixels, sizeof pixels),
                          array(TF_INT32, 1, BATCH, 0, labels, sizeof labels),
                          array(TF_FLOAT, 0, 0, 0, &keep, sizeof keep),
                          array(TF_FLOAT, 0, 0, 0, &rate, sizeof rate)};
  leat_array_t fetch = array(TF_FLOAT, 0, 0, 0, &loss, sizeof loss);
  int* order = malloc((size_t)set->count * sizeof *order);
  int per_epoch = set->count / BATCH, epoch = -1;
  double begun = seconds(), average = 2.3;
  for (int64_t step; order && leat_supervisor_next(supervisor, &step);) {
    int i = (int)step;
    if (i / per_epoch != epoch) begin_epoch(order, set->count, epoch = i / per_epoch);
    if (!skipped) gather(set, order + (size_t)(i % per_epoch) * BATCH, pixels, labels);
    rate = r->model.first_rate * (float)(steps - i) / (float)steps;  // down to nothing at the end
    leat_callable_run(r->step, feeds + skipped, &fetch, r->status);
    if (!leat_supervisor_check(supervisor, r->status)) continue;
    average += 0.02 * (loss - average);
    if (i % 20 == 19 || i + 1 == steps) show_progress(kind, i + 1, steps, average, begun);
  }
  free(order);
}

static void train_model(const char* kind, const char* directory, const char* records, int steps,
                        float keep, const dataset_t* train_set, const dataset_t* test_set) {
  runner_t r;
  open_runner(kind, directory, records, &r);
  leat_supervisor_spec_t spec = {.graph = r.model.graph,
                                 .init = r.model.init,
                                 .saver = r.saver,
                                 .queue_runners = r.model.input.runners,
                                 .queue_runner_count = r.model.input.runner_count,
                                 .last_step = steps,
                                 .opened = prepare,
                                 .closing = forget,
                                 .data = &r};
  leat_supervisor_t* supervisor = leat_supervisor_create(&spec, r.status);
  train(&r, supervisor, kind, train_set, steps, keep);
  r.session = leat_supervisor_session(supervisor);
  double right = r.session ? accuracy(&r, test_set) : 0;
  leat_supervisor_close(supervisor, r.status);
  check("training", r.status);
  printf("%s: test accuracy %.1f %%\n", kind, 100 * right);
  fflush(stdout);
  close_runner(&r);
}

// ---- Showing ------------------------------------------------------------------------------------

// Two rows of pixels in one row of text.
static void draw_digits(const dataset_t* set, const int* which) {
  const char shades[] = " .:-=+*#%@";
  for (int y = 2; y < SIDE - 2; y += 2) {
    for (int i = 0; i < IN_ROW; ++i) {
      const float* p = set->pixels + (size_t)which[i] * PIXELS + y * SIDE;
      for (int x = 4; x < SIDE - 4; ++x) putchar(shades[(int)(4.5f * (p[x] + p[SIDE + x]))]);
    }
    putchar('\n');
  }
}

static void restore_and_answer(const char* kind, const char* directory, const dataset_t* set,
                               const int* which, int answers[SHOWN]) {
  runner_t r;
  int64_t step = 0;
  open_runner(kind, directory, NULL, &r);
  TF_SessionOptions* options = TF_NewSessionOptions();
  r.session = TF_NewSession(r.model.graph, options, r.status);
  check("opening a session", r.status);
  TF_DeleteSessionOptions(options);
  leat_saver_restore_latest(r.saver, r.session, &step, r.status);
  check("restoring", r.status);
  printf("%s: restored from step %lld\n", kind, (long long)step);
  for (int i = 0; i < SHOWN; ++i) {
    float logits[CLASSES];
    predict(&r, set->pixels + (size_t)which[i] * PIXELS, 1, logits);
    answers[i] = best(logits);
  }
  TF_DeleteSession(r.session, r.status);
  close_runner(&r);
}

static void classify(const char* directory, const dataset_t* set) {
  int which[SHOWN], mlp[SHOWN], cnn[SHOWN];
  for (int i = 0; i < SHOWN; ++i) which[i] = i * 37 % set->count;
  restore_and_answer("mlp", directory, set, which, mlp);
  restore_and_answer("cnn", directory, set, which, cnn);
  for (int i = 0; i < SHOWN; i += IN_ROW) {
    draw_digits(set, which + i);
    for (int k = i; k < i + IN_ROW; ++k) printf("    mlp %d, cnn %d    ", mlp[k], cnn[k]);
    putchar('\n');
  }
}

static void train_all(const char* directory, int from_queue, int steps,
                       const dataset_t* test_set) {
  dataset_t set = {0};
  load("train", &set);
  if (from_queue && !input_write(directory, &set)) {
    fprintf(stderr, "mnist: writing records into %s failed\n", directory);
    exit(1);
  }
  const char* records = from_queue ? directory : NULL;
  int per_epoch = set.count / BATCH;
  train_model("softmax", directory, records, steps ? steps : 4 * per_epoch, 1, &set, test_set);
  train_model("mlp", directory, records, steps ? steps : 4 * per_epoch, 0.9f, &set, test_set);
  train_model("cnn", directory, records, steps ? steps : 3 * per_epoch, 0.6f, &set, test_set);
  dataset_free(&set);
}

int main(int argc, char** argv) {
  dataset_t test_set = {0};
  int from_queue = 0, steps = 0, trains = argc > 2 && strcmp(argv[1], "train") == 0;
  int valid = trains || (argc == 3 && strcmp(argv[1], "classify") == 0);
  for (int i = 3; i < argc; i += 2) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--input") == 0 && strcmp(value, "queue") == 0) {
      from_queue = 1;
    } else if (strcmp(argv[i], "--steps") != 0 || (steps = atoi(value)) < 1) {
      valid = 0;
    }
  }
  if (!valid) {
    fprintf(stderr, "usage: mnist train DIR [--input queue] [--steps N] | mnist classify DIR\n");
    return 2;
  }
  load("t10k", &test_set);
  if (trains) {
    train_all(argv[2], from_queue, steps, &test_set);
  } else {
    classify(argv[2], &test_set);
  }
  dataset_free(&test_set);
  return 0;
}

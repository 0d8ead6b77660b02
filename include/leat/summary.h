/* leat/summary.h: what `leat board` and TensorBoard show beside the scalars and histograms of
 * leat/files.h: texts, images, sound, recorded steps, precision and recall, layouts of charts, and
 * hyper-parameters.
 *
 *   leat_hparam_t hparams[] = {leat_hparam_number("learning_rate", 0.1),
 *                              leat_hparam_text("optimizer", "adam")};
 *   float labels[] = {1, 0, 1}, predictions[] = {0.9f, 0.2f, 0.4f};
 *   leat_pr_curve_t curve = {labels, predictions, NULL, 3, 101};
 *   leat_events_t* events = leat_events_open("logs/first", status);
 *   leat_events_add_session_start(events, &(leat_session_start_t){hparams, 2, NULL}, status);
 *   leat_events_add_text(events, 0, "notes", "The *first* run.", status);
 *   leat_events_add_pr_curve(events, 100, "digits", &curve, status);
 *   leat_events_add_session_end(events, LEAT_SESSION_SUCCESS, status);
 *   leat_events_close(events, status);
 *
 * Everything that is passed in is borrowed for the call. A handle belongs to one thread at a time.
 * A call may write what was gathered to the file, and block while it does. Texts are UTF-8; a tag,
 * title or name is not empty. INVALID_ARGUMENT names what is not as it must be, and nothing is
 * written then; FAILED_PRECONDITION: |events| is NULL because opening failed; errors of the file as
 * in leat/files.h. */
#ifndef LEAT_SUMMARY_H_
#define LEAT_SUMMARY_H_

#include "leat/files.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Values -----------------------------------------------------------------------------------*/
/* A text, which the board shows as Markdown. */
TF_CAPI_EXPORT extern void leat_events_add_text(leat_events_t* events, int64_t step,
                                                const char* tag, const char* text,
                                                TF_Status* status);
/* An image: the |size_bytes| bytes of a PNG, JPEG or GIF file, of |width| times |height| pixels.
 * Its first bytes must be those of such a file; it is not decoded. */
TF_CAPI_EXPORT extern void leat_events_add_image(leat_events_t* events, int64_t step,
                                                 const char* tag, const void* file,
                                                 size_t size_bytes, int width, int height,
                                                 TF_Status* status);
/* Sound: the |size_bytes| bytes of a WAV file with 16 bits a sample, which tells its sample rate,
 * its channels and its length. */
TF_CAPI_EXPORT extern void leat_events_add_audio(leat_events_t* events, int64_t step,
                                                 const char* tag, const void* file,
                                                 size_t size_bytes, TF_Status* status);
/* The RunMetadata that TF_SessionRun gave for a step, under a tag of its own, "step 100" say: the
 * board colours the graph by it. */
TF_CAPI_EXPORT extern void leat_events_add_run_metadata(leat_events_t* events, int64_t step,
                                                        const char* tag,
                                                        const TF_Buffer* run_metadata,
                                                        TF_Status* status);

/* ---- Precision and recall ---------------------------------------------------------------------*/
/* What a classifier predicted of |count| examples, and what was so. A prediction counts as positive
 * at each threshold that it reaches; thresholds are spaced evenly from 0 to 1. As in TensorBoard
 * the threshold of a prediction is computed in floats. */
typedef struct leat_pr_curve_t {
  const float* labels;      /* [count], each 0 or 1 */
  const float* predictions; /* [count], each from 0 to 1 */
  const float* weights;     /* [count], each finite and at least 0; NULL: all are 1 */
  size_t count;
  int threshold_count; /* 2 to 2^20; TensorBoard's default is 201 */
} leat_pr_curve_t;
/* Writes float [6, threshold_count]: true positives, false positives, true negatives, false
 * negatives, precision, recall. */
TF_CAPI_EXPORT extern void leat_events_add_pr_curve(leat_events_t* events, int64_t step,
                                                    const char* tag, const leat_pr_curve_t* curve,
                                                    TF_Status* status);

/* - A layout of charts --------------------------------------------------------------------------
 * Which scalars the page "Custom scalars" shows together. The newest layout of a run counts.
 *
 *   const char* tags[] = {"loss", "eval/loss"};
 *   leat_margin_t margin = {"accuracy", "accuracy_low", "accuracy_high"};
 *   leat_chart_t charts[] = {{"losses", tags, 2, NULL, 0}, {"accuracy", NULL, 0, &margin, 1}};
 *   leat_chart_category_t category = {"training", charts, 2, 0};
 *   leat_events_add_layout(events, &category, 1, status);                                       */

/* A line in a band: tags of three scalars. */
typedef struct leat_margin_t {
  const char *value, *lower, *upper;
} leat_margin_t;
/* Either lines of all scalars that |tags|, regular expressions, match from the beginning of a tag,
 * or lines in bands; one of the two counts is 0 and the other is not. */
typedef struct leat_chart_t {
  const char* title;
  const char* const* tags;
  int tag_count;
  const leat_margin_t* margins;
  int margin_count;
} leat_chart_t;
typedef struct leat_chart_category_t {
  const char* title; /* no two categories have one title */
  const leat_chart_t* charts;
  int chart_count;
  int is_closed; /* whether the page shows its title alone at first */
} leat_chart_category_t;
TF_CAPI_EXPORT extern void leat_events_add_layout(leat_events_t* events,
                                                  const leat_chart_category_t* categories,
                                                  int category_count, TF_Status* status);

/* - Hyper-parameters ----------------------------------------------------------------------------
 * A run is a session of an experiment: it begins with the values of its hyper-parameters and ends
 * with a status. Its scalars, and those of the runs below it, are what the table compares. Times
 * are those of the calls. */
typedef enum leat_hparam_kind_t {
  LEAT_HPARAM_TEXT = 1,
  LEAT_HPARAM_BOOL = 2,
  LEAT_HPARAM_NUMBER = 3
} leat_hparam_kind_t;
typedef struct leat_hparam_t {
  const char* name; /* no two of a session have one name */
  leat_hparam_kind_t kind;
  double number;    /* finite */
  const char* text; /* may be empty */
  int truth;        /* of a BOOL: 0 is false */
} leat_hparam_t;
TF_CAPI_EXPORT extern leat_hparam_t leat_hparam_number(const char* name, double number);
TF_CAPI_EXPORT extern leat_hparam_t leat_hparam_text(const char* name, const char* text);
TF_CAPI_EXPORT extern leat_hparam_t leat_hparam_bool(const char* name, int truth);

typedef struct leat_session_start_t {
  const leat_hparam_t* hparams;
  int hparam_count;
  const char* group; /* sessions of one group are one row of the table; NULL: one of its own */
} leat_session_start_t;
TF_CAPI_EXPORT extern void leat_events_add_session_start(leat_events_t* events,
                                                         const leat_session_start_t* start,
                                                         TF_Status* status);
typedef enum leat_session_status_t {
  LEAT_SESSION_UNKNOWN = 0,
  LEAT_SESSION_SUCCESS = 1,
  LEAT_SESSION_FAILURE = 2,
  LEAT_SESSION_RUNNING = 3
} leat_session_status_t;
TF_CAPI_EXPORT extern void leat_events_add_session_end(leat_events_t* events,
                                                       leat_session_status_t session_status,
                                                       TF_Status* status);

/* Which values a hyper-parameter may have; zero: any. */
typedef struct leat_hparam_info_t {
  const char* name;  /* no two of an experiment have one name */
  const char* title; /* shown in its place; NULL: none */
  leat_hparam_kind_t kind;
  double low, high;         /* of a NUMBER, finite, low <= high; both 0: any */
  const char* const* texts; /* of a TEXT */
  int text_count;
} leat_hparam_info_t;
typedef struct leat_hparam_metric_t {
  const char* tag;   /* of a scalar; no two have one tag and group */
  const char* group; /* the run below the session; NULL: the session itself */
  const char* title; /* shown in the tag's place; NULL: none */
} leat_hparam_metric_t;
/* What the table shows. Without one it has all that any session wrote. */
typedef struct leat_experiment_t {
  const char* description; /* NULL: none */
  const leat_hparam_info_t* hparams;
  int hparam_count;
  const leat_hparam_metric_t* metrics;
  int metric_count;
} leat_experiment_t;
/* Belongs into a file of the log directory itself, above all runs. */
TF_CAPI_EXPORT extern void leat_events_add_experiment(leat_events_t* events,
                                                      const leat_experiment_t* experiment,
                                                      TF_Status* status);

/* - The same for other writers ------------------------------------------------------------------
 * Each returns a serialised Summary with the one value that the function of its name above would
 * write: for leat_events_add_summary, or for a writer of another library. The caller deletes the
 * buffer; NULL on error. */
TF_CAPI_EXPORT extern TF_Buffer* leat_summary_pr_curve(const char* tag,
                                                       const leat_pr_curve_t* curve,
                                                       TF_Status* status);
TF_CAPI_EXPORT extern TF_Buffer* leat_summary_layout(const leat_chart_category_t* categories,
                                                     int category_count, TF_Status* status);
TF_CAPI_EXPORT extern TF_Buffer* leat_summary_session_start(const leat_session_start_t* start,
                                                            TF_Status* status);
TF_CAPI_EXPORT extern TF_Buffer* leat_summary_session_end(leat_session_status_t session_status,
                                                          TF_Status* status);
TF_CAPI_EXPORT extern TF_Buffer* leat_summary_experiment(const leat_experiment_t* experiment,
                                                         TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_SUMMARY_H_ */

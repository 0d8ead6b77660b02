// The CPU kernel of Skipgram. It reads a text file once, numbers its words by how often they
// occur, and then walks over the text for ever:
//
//   text ─subsample─▶ sentence of 1000 words ─window of random width─▶ (word, word near it), ...
//
// Frequent words are left out of a sentence at random (equation 5 of the paper). Each word of a
// sentence is paired with all words in a window around it, whose width is drawn for each word.
// Random words come from a Philox generator that every Skipgram begins at zero, as TensorFlow has
// it: the examples of a file are the same in each session, and those that TensorFlow gives. They
// are made 3000 at a time, so that the counters of epochs and words, which are outputs too, run
// ahead of the examples by as much as they do there. Of words that occur equally often, the one
// that comes first in the text has the smaller number; TensorFlow leaves their order open.
//
// The place in the text is a resource of the session, because several plans may hold the node. Its
// lock is held while a batch is taken. A hostile |subsample| may leave out nearly every word, which
// is why the walk asks whether the step is to end.
#include <math.h>

#include "base/checked.h"
#include "base/file_system.h"
#include "base/map.h"
#include "base/sort.h"
#include "base/string_builder.h"
#include "kernel/resource.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/random/unigram_cpu.h"

enum { kExamples = 3000, kSentence = 1000 };

// The attributes of a node.
typedef struct options_s {
  leat_string_view_t file;
  int64_t batch_size, window, min_count;  // each fits 32 bits
  float subsample;
} options_t;

typedef struct pair_s {
  int32_t word, label;
} pair_t;

typedef struct skipgram_s {
  leat_resource_t resource;
  // Not changed after the creation.
  options_t options;  // without the file's name, which the node owns
  leat_tensor_t words, counts;  // [vocabulary]
  int32_t* corpus;              // [corpus_size] the text as places in the vocabulary
  int64_t corpus_size;
  leat_mutex_t mutex;
  // Under the mutex.
  leat_word_stream_t stream;
  int32_t epoch;            // -1 before the first
  int64_t words_processed;
  int64_t position;         // in the corpus, of the next sentence
  int32_t sentence[kSentence];
  int32_t filled;           // words of the next sentence that an interrupted step left
  int32_t place;            // in the sentence, of the word whose window is walked over
  int32_t label, label_end;  // the rest of that window
  pair_t examples[kExamples];
  int32_t made, next;  // of |examples|: so many are there, and which is taken next
} skipgram_t;

// ---- The text -----------------------------------------------------------------------------------

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Takes the next word off the front of |*inout_text|. false at the end.
static bool take_word(leat_string_view_t* inout_text, leat_string_view_t* out_word) {
  const char *begin = inout_text->data, *end = begin + inout_text->size;
  while (begin < end && is_space(*begin)) ++begin;
  const char* stop = begin;
  while (stop < end && !is_space(*stop)) ++stop;
  *out_word = leat_string_view_make(begin, (size_t)(stop - begin));
  *inout_text = leat_string_view_make(stop, (size_t)(end - stop));
  return out_word->size > 0;
}

// Whether the word of entry |a| of the map comes before that of entry |b|: the entries are in the
// order of the text, and their values are counts.
static bool is_more_frequent(const void* context, const void* a, const void* b) {
  const leat_string_map_t* map = context;
  const uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  const uint64_t more = map->entries[x].value, less = map->entries[y].value;
  return more != less ? more > less : x < y;
}

static leat_status_t count_words(skipgram_t* s, leat_string_view_t text, leat_string_map_t* map) {
  leat_string_view_t word;
  while (take_word(&text, &word)) {
    uint64_t* count;
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(map, word, 0, &count, NULL));
    ++*count;
    ++s->corpus_size;
  }
  if (s->corpus_size > 0 && s->corpus_size < INT32_MAX &&
      s->corpus_size / 10 >= s->options.window) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "The text file %.*s contains %s data: %lld words",
                          LEAT_SV_ARG(s->options.file),
                          s->corpus_size < INT32_MAX ? "too little" : "too much",
                          (long long)s->corpus_size);
}

// Fills the vocabulary with the |frequent| entries that |order| names first. Values of the map
// become places in the vocabulary, 0 for rare words.
static leat_status_t fill_vocabulary(skipgram_t* s, leat_string_map_t* map, const uint32_t* order,
                                     uint32_t frequent) {
  const leat_shape_t shape = leat_shape_vector((int64_t)frequent + 1);
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &shape, &s->words));
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_INT32, &shape, &s->counts));
  int32_t* counts = leat_tensor_data(&s->counts, int32_t);
  LEAT_RETURN_IF_ERROR(leat_tensor_set_string(&s->words, 0, LEAT_SV("UNK")));
  counts[0] = (int32_t)s->corpus_size;
  for (uint32_t i = 0; i < map->count; ++i) {
    leat_string_map_entry_t* entry = &map->entries[order[i]];
    const int32_t count = (int32_t)entry->value;
    entry->value = i < frequent ? i + 1 : 0;
    if (i >= frequent) continue;
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(&s->words, i + 1, entry->key));
    counts[i + 1] = count;
    counts[0] -= count;
  }
  return leat_ok_status();
}

static leat_status_t make_vocabulary(skipgram_t* s, leat_string_map_t* map) {
  uint32_t* order;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), map->count, &order));
  for (uint32_t i = 0; i < map->count; ++i) order[i] = i;
  leat_sort(order, map->count, sizeof *order, is_more_frequent, map);
  uint32_t frequent = 0;
  while (frequent < map->count &&
         (int64_t)map->entries[order[frequent]].value >= s->options.min_count) {
    ++frequent;
  }
  leat_status_t status = fill_vocabulary(s, map, order, frequent);
  leat_allocator_free(leat_allocator_system(), order);
  return status;
}

static leat_status_t read_text(skipgram_t* s, leat_string_view_t text, leat_string_map_t* map) {
  LEAT_RETURN_IF_ERROR(count_words(s, text, map));
  LEAT_RETURN_IF_ERROR(make_vocabulary(s, map));
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)s->corpus_size, &s->corpus));
  leat_string_view_t word;
  for (int64_t i = 0; take_word(&text, &word); ++i) {
    uint64_t id = 0;
    (void)leat_string_map_get(map, word, &id);
    s->corpus[i] = (int32_t)id;
  }
  return leat_ok_status();
}

static leat_status_t read_file(skipgram_t* s) {
  leat_allocator_t* allocator = leat_allocator_system();
  char *name, *data = NULL;
  size_t size;
  const leat_string_view_t file = s->options.file;
  LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(allocator, file.data, file.size, &name));
  leat_status_t status =
      leat_file_read_all(leat_file_system_default(), name, allocator, &data, &size);
  leat_allocator_free(allocator, name);
  if (status) return status;
  leat_string_map_t map;
  leat_string_map_initialize(allocator, &map);
  status = read_text(s, leat_string_view_make(data, size), &map);
  leat_string_map_deinitialize(&map);
  leat_allocator_free(allocator, data);
  return status;
}

// ---- The walk -----------------------------------------------------------------------------------

// Whether the word at |position| goes into the sentence, by equation 5 of the paper.
static bool is_kept(skipgram_t* s, int32_t word) {
  if (!(s->options.subsample > 0)) return true;
  const float threshold = s->options.subsample * (float)s->corpus_size;
  const float count = (float)leat_tensor_data(&s->counts, const int32_t)[word];
  const float odds = (sqrtf(count / threshold) + 1) * threshold / count;
  return leat_word_stream_fraction(&s->stream) <= odds;
}

// Takes the next words of the text that are kept. A step that ends in between leaves the rest to
// the next one, for which |filled| says how many there are.
static leat_status_t fill_sentence(skipgram_t* s, leat_step_pace_t* pace) {
  for (; s->filled < kSentence; ++s->position) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(pace, 10));
    if (s->position >= s->corpus_size) {
      s->epoch = (int32_t)((uint32_t)s->epoch + 1);
      s->position = 0;
    }
    const int32_t word = s->corpus[s->position];
    if (is_kept(s, word)) s->sentence[s->filled++] = word;
  }
  s->filled = 0;
  s->place = 0;
  return leat_ok_status();
}

// Moves on to the next word of the text, and draws its window.
static leat_status_t next_window(skipgram_t* s, leat_step_pace_t* pace) {
  if (s->place + 1 >= kSentence) {
    LEAT_RETURN_IF_ERROR(fill_sentence(s, pace));
  } else {
    ++s->place;
  }
  ++s->words_processed;
  const uint32_t window = (uint32_t)s->options.window;
  // A window of 0 takes a word of the generator too.
  const uint32_t drawn = leat_word_stream_below(&s->stream, LEAT_MAX(window, 1));
  const int64_t reach = 1 + (int64_t)drawn;
  s->label = (int32_t)LEAT_MAX((int64_t)0, s->place - reach);
  s->label_end = (int32_t)LEAT_MIN((int64_t)kSentence, s->place + reach + 1);
  return leat_ok_status();
}

// Takes the next word of the window, passing over the word that the window is around.
static leat_status_t next_example(skipgram_t* s, leat_step_pace_t* pace, pair_t* out_pair) {
  while (s->label >= s->label_end || s->label == s->place) {
    if (s->label < s->label_end) {
      ++s->label;
    } else {
      LEAT_RETURN_IF_ERROR(next_window(s, pace));
    }
  }
  LEAT_DCHECK(s->place < kSentence && s->label < kSentence);
  *out_pair = (pair_t){s->sentence[s->place], s->sentence[s->label++]};
  return leat_step_pace_count(pace, 5);
}

// Makes examples until all are there. A step that ends in between leaves the others to the next
// one.
static leat_status_t make_examples(skipgram_t* s, leat_step_pace_t* pace) {
  for (; s->made < kExamples; ++s->made) {
    LEAT_RETURN_IF_ERROR(next_example(s, pace, &s->examples[s->made]));
  }
  return leat_ok_status();
}

// ---- The kernel ---------------------------------------------------------------------------------

static void skipgram_destroy(leat_resource_t* resource) {
  skipgram_t* s = (skipgram_t*)resource;
  leat_tensor_release(&s->words);
  leat_tensor_release(&s->counts);
  leat_allocator_free(leat_allocator_system(), s->corpus);
  leat_mutex_deinitialize(&s->mutex);
  leat_allocator_free(leat_allocator_system(), s);
}

static const leat_resource_kind_t kSkipgramKind = {.name = "Skipgram",
                                                   .destroy = skipgram_destroy};

static leat_status_t make_skipgram(void* data, leat_resource_t** out_resource) {
  skipgram_t* s;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &s));
  s->resource.kind = &kSkipgramKind;
  atomic_init(&s->resource.references, 1);
  s->options = *(const options_t*)data;
  leat_mutex_initialize(&s->mutex);
  s->epoch = -1;
  s->place = kSentence;
  leat_status_t status = read_file(s);
  s->options.file = (leat_string_view_t){0};
  if (status) {
    leat_resource_release(&s->resource);
    return status;
  }
  s->position = s->corpus_size;
  *out_resource = &s->resource;
  return leat_ok_status();
}

static leat_status_t read_count(leat_kernel_creation_t* c, const char* name, bool may_be_negative,
                                int64_t* out_count) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, name, out_count));
  if (*out_count >= 0 || may_be_negative) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (Skipgram): %s is %lld, must be >= 0",
                          LEAT_SV_ARG(c->kernel->node_name), name, (long long)*out_count);
}

// The plans of a session that hold the node share its place in the text. The attributes are part
// of the name because nodes of two functions may have the same one.
static leat_status_t skipgram_create(leat_kernel_creation_t* c, void* memory) {
  options_t o;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "filename", &o.file));
  LEAT_RETURN_IF_ERROR(read_count(c, "batch_size", false, &o.batch_size));
  LEAT_RETURN_IF_ERROR(read_count(c, "window_size", false, &o.window));
  LEAT_RETURN_IF_ERROR(read_count(c, "min_count", true, &o.min_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "subsample", &o.subsample));
  leat_resource_t** out_resource = memory;
  if (!c->session_resources) return make_skipgram(&o, out_resource);
  leat_string_builder_t name;
  leat_string_builder_initialize(leat_allocator_system(), &name);
  leat_string_builder_print(&name, "%lld;%lld;%lld;%a;%.*s;%.*s", (long long)o.batch_size,
                            (long long)o.window, (long long)o.min_count, (double)o.subsample,
                            LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(o.file));
  leat_status_t status = name.status;
  name.status = leat_ok_status();
  if (!status) {
    status = leat_resource_manager_find_or_make(
        c->session_resources, LEAT_SV(""), leat_string_builder_view(&name), &kSkipgramKind,
        make_skipgram, &o, out_resource);
  }
  leat_string_builder_deinitialize(&name);
  return status;
}

static void skipgram_end(void* memory) { leat_resource_release(*(leat_resource_t**)memory); }

// Fills a batch. The examples that are made ahead are used up first, and the next ones are made
// as soon as they are, as in TensorFlow, whose counters show it.
static leat_status_t take_batch(skipgram_t* s, leat_kernel_context_t* c, int32_t* examples,
                                int32_t* labels) {
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t i = 0; i < s->options.batch_size; ++i) {
    LEAT_RETURN_IF_ERROR(make_examples(s, &pace));
    examples[i] = s->examples[s->next].word;
    labels[i] = s->examples[s->next].label;
    if (++s->next < kExamples) continue;
    s->next = s->made = 0;
  }
  return make_examples(s, &pace);
}

static leat_status_t set_counter(leat_kernel_context_t* c, int index, int64_t value) {
  const leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, index, &scalar, &output));
  *leat_tensor_data(output, int64_t) = value;
  return leat_ok_status();
}

static leat_status_t skipgram__cpu(leat_kernel_context_t* c) {
  skipgram_t* s = *(skipgram_t**)leat_kernel_state(c);
  const leat_shape_t batch = leat_shape_vector(s->options.batch_size);
  leat_tensor_t *examples, *labels;
  leat_kernel_set_output(c, 0, leat_tensor_share(&s->words));
  leat_kernel_set_output(c, 1, leat_tensor_share(&s->counts));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 5, &batch, &examples));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 6, &batch, &labels));
  leat_mutex_lock(&s->mutex);
  leat_status_t status = take_batch(s, c, examples->data, labels->data);
  const int32_t epoch = s->epoch;
  const int64_t processed = s->words_processed;
  leat_mutex_unlock(&s->mutex);
  if (status) return status;
  LEAT_RETURN_IF_ERROR(set_counter(c, 2, s->corpus_size));
  LEAT_RETURN_IF_ERROR(leat_kernel_set_output_int32(c, 3, epoch));
  return set_counter(c, 4, processed);
}

const leat_kernel_row_t leat_skipgram_kernels_cpu[] = {
    LEAT_CPU_KERNEL("Skipgram", NULL, skipgram_t*, skipgram_create, skipgram__cpu,
                    .destroy = skipgram_end, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};

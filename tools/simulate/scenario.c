// Reads, checks and writes scenarios. The fields are rows of one table: name, kind, limits and
// place in the struct; so reading, --set, printing and the messages follow from a row, and a field
// is added in one line. Amounts have units, because a latency of 100 may mean too much, and each
// kind of amount has its own. What is wrong with one value is told when it is set, with its line;
// what is wrong between values (an amount for each of 4 servers where there are 5) is told by
// scenario_check, which also bounds the number of events, so that no scenario runs for hours.
#include "simulate/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EVENTS 3e8   // some minutes
#define MAX_PAIRS 4e6    // of a worker and a server
enum { MAX_LINE = 1 << 20 };

// ---- Amounts ------------------------------------------------------------------------------------

typedef enum { PLAIN, WHOLE, TIME, BYTES, RATE, CHOICE } kind_t;

typedef struct unit_s {
  kind_t kind;
  const char* name;
  double size;
} unit_t;

// In order of size; the first that fits is printed.
static const unit_t kUnits[] = {
    {TIME, "s", 1},       {TIME, "ms", 1e-3},   {TIME, "us", 1e-6},   {TIME, "ns", 1e-9},
    {BYTES, "GB", 1e9},   {BYTES, "MB", 1e6},   {BYTES, "kB", 1e3},   {BYTES, "B", 1},
    {RATE, "GB/s", 1e9},  {RATE, "MB/s", 1e6},  {RATE, "kB/s", 1e3},  {RATE, "B/s", 1},
    {RATE, "Gbit/s", 1.25e8}, {RATE, "Mbit/s", 1.25e5},
};
#define UNIT_COUNT (sizeof kUnits / sizeof *kUnits)

static const char* const kRules[] = {
    [PLAIN] = "a number", [WHOLE] = "a whole number",
    [TIME] = "a time such as 1.5 s, 20 ms, 3 us or 4 ns",
    [BYTES] = "bytes such as 2 GB, 3 MB, 4 kB or 5 B",
    [RATE] = "a rate such as 1.25 GB/s, 100 MB/s or 10 Gbit/s, or 'none'",
};

static const char* skip_blanks(const char* at) { return at + strspn(at, " \t"); }

// Reads an amount and moves |inout_at| behind it. false where there is none of that kind.
static bool read_amount(const char** inout_at, kind_t kind, double* out_value) {
  const char* at = skip_blanks(*inout_at);
  if (kind == RATE && !strncmp(at, "none", 4)) {
    *out_value = 0;
    *inout_at = at + 4;
    return true;
  }
  char* end;
  // strtod would take names and hexadecimal numbers too.
  if (!strchr("+-.0123456789", *at) || !*at || at[strspn(at, "+-.0123456789eE")] == 'x') {
    return false;
  }
  double value = strtod(at, &end);
  if (end == at || !isfinite(value)) return false;
  if (kind == PLAIN || kind == WHOLE) {
    *inout_at = end;
    *out_value = value;
    return kind == PLAIN || value == floor(value);
  }
  at = skip_blanks(end);
  size_t length = strcspn(at, " \t,");
  for (size_t i = 0; i < UNIT_COUNT; ++i) {
    const unit_t* unit = &kUnits[i];
    if (unit->kind != kind || strlen(unit->name) != length || strncmp(unit->name, at, length)) {
      continue;
    }
    *inout_at = at + length;
    *out_value = value * unit->size;
    return true;
  }
  // Nothing is nothing in each unit.
  *inout_at = end;
  *out_value = 0;
  return value == 0;
}

static void print_amount(FILE* out, kind_t kind, double value) {
  const unit_t* unit = NULL;
  for (size_t i = 0; i < UNIT_COUNT && value > 0; ++i) {
    if (kUnits[i].kind != kind) continue;
    unit = &kUnits[i];
    if (value >= unit->size) break;
  }
  if (kind == RATE && value == 0) {
    fputs("none", out);
    return;
  }
  fprintf(out, "%.9g%s%s", value / (unit ? unit->size : 1), unit ? " " : "",
          unit ? unit->name : "");
}

// ---- Fields -------------------------------------------------------------------------------------

typedef struct field_s {
  const char* name;
  kind_t kind;
  double least, most;
  size_t offset;  // of a double
  const char* choices[2];  // the names of 0 and 1
} field_t;

#define AT(member) offsetof(scenario_t, member)
static const field_t kFields[] = {
    {"workers", WHOLE, 1, SCENARIO_WORKERS, AT(workers), {0}},
    {"servers", WHOLE, 1, SCENARIO_SERVERS, AT(servers), {0}},
    {"policy", CHOICE, 0, 1, AT(policy), {"async", "sync"}},
    {"backup", WHOLE, 0, SCENARIO_WORKERS, AT(backup), {0}},
    {"machines", CHOICE, 0, 1, AT(machines), {"separate", "one"}},
    {"cores", PLAIN, 0.01, 1e6, AT(cores), {0}},
    {"worker_cores", PLAIN, 0.01, 1e6, AT(worker_cores), {0}},
    {"server_cores", PLAIN, 0.01, 1e6, AT(server_cores), {0}},
    {"bandwidth", RATE, 0, 1e15, AT(bandwidth), {0}},
    {"latency", TIME, 0, 1e3, AT(latency), {0}},
    {"call_cpu", TIME, 0, 1e3, AT(call_cpu), {0}},
    {"step_calls", WHOLE, 1, 100, AT(step_calls), {0}},
    {"copy", RATE, 0, 1e15, AT(copy), {0}},
    {"step_cpu", TIME, 0, 1e6, AT(step_cpu), {0}},
    {"update", TIME, 0, 1e6, AT(update), {0}},
    {"examples", PLAIN, 0, 1e12, AT(examples), {0}},
    {"lognormal", PLAIN, 0, 3, AT(lognormal), {0}},
    {"tail_chance", PLAIN, 0, 1, AT(tail_chance), {0}},
    {"tail_factor", PLAIN, 1, 1e4, AT(tail_factor), {0}},
    {"steps", WHOLE, 1, 1e6, AT(steps), {0}},
    {"warmup", WHOLE, 0, 1e6, AT(warmup), {0}},
    {"seed", WHOLE, 0, 1e15, AT(seed), {0}},
};
#define FIELD_COUNT ((int)(sizeof kFields / sizeof *kFields))

static double* value_of(scenario_t* s, const field_t* field) {
  return (double*)((char*)s + field->offset);
}

static const field_t* find_field(const char* name) {
  for (int i = 0; i < FIELD_COUNT; ++i) {
    if (!strcmp(kFields[i].name, name)) return &kFields[i];
  }
  return NULL;
}

void scenario_initialize(scenario_t* s) {
  *s = (scenario_t){.workers = 1, .servers = 1, .cores = 8, .worker_cores = 8, .server_cores = 8,
                    .step_calls = 1, .tail_factor = 1, .steps = 100, .warmup = 5, .seed = 1};
}

void scenario_free(scenario_t* s) {
  for (int i = 0; i < s->phase_count; ++i) {
    free(s->phases[i].compute.values);
    free(s->phases[i].send.values);
    free(s->phases[i].messages.values);
  }
  free(s->samples_path);
}

static bool set_field(scenario_t* s, const field_t* field, const char* place, const char* value,
                      scenario_error_t* error) {
  double number = -1;
  const char* end = value;
  if (field->kind == CHOICE) {
    for (int i = 0; i < 2; ++i) {
      if (!strcmp(value, field->choices[i])) number = i;
    }
    if (number < 0) {
      snprintf(error->text, sizeof error->text, "%s: %s is '%s', must be %s or %s", place,
               field->name, value, field->choices[0], field->choices[1]);
      return false;
    }
  } else if (!read_amount(&end, field->kind, &number) || *skip_blanks(end)) {
    snprintf(error->text, sizeof error->text, "%s: %s is '%s', must be %s", place, field->name,
             value, kRules[field->kind]);
    return false;
  } else if (number < field->least || number > field->most) {
    snprintf(error->text, sizeof error->text, "%s: %s is '%s', must be from %g to %g", place,
             field->name, value, field->least, field->most);
    return false;
  }
  *value_of(s, field) = number;
  return true;
}

// ---- Phases -------------------------------------------------------------------------------------

phase_t* scenario_add_phase(scenario_t* s, bool is_server) {
  if (s->phase_count == SCENARIO_PHASES) return NULL;
  phase_t* phase = &s->phases[s->phase_count++];
  *phase = (phase_t){.is_server = is_server, .threads = 1};
  return phase;
}

double* scenario_portions(portions_t* portions, int count) {
  free(portions->values);
  portions->values = calloc((size_t)count, sizeof *portions->values);
  portions->count = portions->values ? count : 0;
  return portions->values;
}

double portions_of(const portions_t* portions, int server, int servers) {
  if (portions->count == 0) return 0;
  if (portions->count > 1) return portions->values[server];
  return portions->is_each ? portions->values[0] : portions->values[0] / servers;
}

double portions_total(const portions_t* portions, int servers) {
  double total = 0;
  for (int i = 0; i < portions->count; ++i) total += portions->values[i];
  return portions->is_each ? total * servers : total;
}

// Takes the word at |inout_at| if it is |word|.
static bool take_word(const char** inout_at, const char* word) {
  const char* at = skip_blanks(*inout_at);
  size_t length = strlen(word);
  if (strncmp(at, word, length) || !strchr(" \t", at[length])) return false;
  *inout_at = at + length;
  return true;
}

// Reads amounts with commas between, or one and "each". false where one is none of the kind, or
// below 0.
static bool read_portions(const char** inout_at, kind_t kind, portions_t* out) {
  double values[SCENARIO_SERVERS];
  int count = 0;
  for (bool more = true; more; ++count) {
    if (count == SCENARIO_SERVERS || !read_amount(inout_at, kind, &values[count]) ||
        values[count] < 0 || values[count] > 1e15) {
      return false;
    }
    const char* at = skip_blanks(*inout_at);
    more = *at == ',';
    if (more) *inout_at = at + 1;
  }
  if (!scenario_portions(out, count)) return false;
  memcpy(out->values, values, (size_t)count * sizeof *values);
  out->is_each = count == 1 && take_word(inout_at, "each");
  return true;
}

static bool set_phase(scenario_t* s, const char* place, int line, const char* value,
                      scenario_error_t* error) {
  const char* at = value;
  bool is_server = take_word(&at, "server");
  if (!is_server && !take_word(&at, "worker")) {
    snprintf(error->text, sizeof error->text,
             "%s: phase is '%.100s', must begin with server or worker", place, value);
    return false;
  }
  if (s->phase_count > 0 && s->phases[s->phase_count - 1].is_server == is_server) {
    snprintf(error->text, sizeof error->text,
             "%s: phase is '%.100s', must be of the %s, as the one before is not", place, value,
             is_server ? "worker" : "server");
    return false;
  }
  phase_t* phase = scenario_add_phase(s, is_server);
  if (!phase) {
    snprintf(error->text, sizeof error->text, "%s: phase is one too many, must be of at most %d",
             place, SCENARIO_PHASES);
    return false;
  }
  phase->line = line;
  while (*(at = skip_blanks(at))) {
    const char *before = at, *what = "", *rule = NULL;
    portions_t threads = {0};
    if (take_word(&at, what = "compute")) {
      rule = read_portions(&at, TIME, &phase->compute) ? "" : kRules[TIME];
      if (!is_server && (phase->compute.count > 1 || phase->compute.is_each)) {
        rule = "one time, that of the worker";
      }
    } else if (take_word(&at, what = "send")) {
      rule = read_portions(&at, BYTES, &phase->send) ? "" : kRules[BYTES];
    } else if (take_word(&at, what = "messages")) {
      rule = read_portions(&at, PLAIN, &phase->messages) ? "" : kRules[PLAIN];
    } else if (take_word(&at, what = "threads")) {
      bool ok = read_portions(&at, PLAIN, &threads) && threads.count == 1 && *threads.values > 0;
      rule = ok ? "" : "a number above 0";
      if (ok) phase->threads = *threads.values;
      free(threads.values);
    }
    if (rule && !*rule && strchr(" \t", *at)) continue;
    if (rule && !*rule) rule = "one amount, or several with commas between";
    before = rule ? skip_blanks(before + strlen(what)) : before;
    snprintf(error->text, sizeof error->text, "%s: %s is '%.100s', must be %s", place,
             rule ? what : "phase", before,
             rule ? rule : "of compute, send, messages or threads, each with its amount");
    return false;
  }
  return true;
}

// ---- Setting and parsing ------------------------------------------------------------------------

static bool set_samples(scenario_t* s, const char* place, const char* name, const char* value,
                        scenario_error_t* error) {
  // A path is that of the scenario's folder, unless it begins with a slash.
  const char* slash = name ? strrchr(name, '/') : NULL;
  size_t folder = slash && *value != '/' ? (size_t)(slash + 1 - name) : 0;
  free(s->samples_path);
  s->samples_path = malloc(folder + strlen(value) + 1);
  if (!s->samples_path || !*value) {
    snprintf(error->text, sizeof error->text, "%s: samples is '%s', must be a file", place, value);
    return false;
  }
  memcpy(s->samples_path, name ? name : "", folder);
  strcpy(s->samples_path + folder, value);
  return true;
}

bool scenario_set(scenario_t* s, const char* place, const char* name, const char* value,
                  scenario_error_t* error) {
  const field_t* field = find_field(name);
  if (field) return set_field(s, field, place, value, error);
  if (!strcmp(name, "samples")) return set_samples(s, place, NULL, value, error);
  int used = snprintf(error->text, sizeof error->text, "%s: field is '%.60s', must be one of ",
                      place, name);
  for (int i = 0; i < FIELD_COUNT && used < (int)sizeof error->text; ++i) {
    used += snprintf(error->text + used, sizeof error->text - (size_t)used, "%s, ",
                     kFields[i].name);
  }
  if (used < (int)sizeof error->text) {
    snprintf(error->text + used, sizeof error->text - (size_t)used, "samples%s",
             strcmp(name, "phase") ? "" : "; phases are for files");
  }
  return false;
}

// Cuts blanks off both ends.
static char* trim(char* text) {
  text += strspn(text, " \t\r");
  size_t size = strlen(text);
  while (size > 0 && strchr(" \t\r", text[size - 1])) --size;
  text[size] = 0;
  return text;
}

static bool parse_line(scenario_t* s, const char* name, int number, char* line,
                       scenario_error_t* error) {
  char place[256];
  snprintf(place, sizeof place, "%.200s:%d", name, number);
  line[strcspn(line, "#")] = 0;
  line = trim(line);
  if (!*line) return true;
  char* equals = strchr(line, '=');
  if (!equals) {
    snprintf(error->text, sizeof error->text, "%s: line is '%.100s', must be FIELD = VALUE", place,
             line);
    return false;
  }
  *equals = 0;
  const char *key = trim(line), *value = trim(equals + 1);
  if (!strcmp(key, "phase")) return set_phase(s, place, number, value, error);
  if (!strcmp(key, "samples")) return set_samples(s, place, name, value, error);
  const field_t* field = find_field(key);
  if (field && s->lines[field - kFields]) {
    snprintf(error->text, sizeof error->text, "%s: %s is '%s', must be set once; line %d did",
             place, key, value, s->lines[field - kFields]);
    return false;
  }
  if (field) s->lines[field - kFields] = number;
  return scenario_set(s, place, key, value, error);
}

bool scenario_parse(scenario_t* s, const char* name, const char* text, size_t size,
                    scenario_error_t* error) {
  const char* end = text + size;
  for (int number = 1; text < end; ++number) {
    const char* stop = memchr(text, '\n', (size_t)(end - text));
    if (!stop) stop = end;
    size_t length = (size_t)(stop - text);
    char* line = length <= MAX_LINE && !memchr(text, 0, length) ? malloc(length + 1) : NULL;
    if (!line) {
      snprintf(error->text, sizeof error->text,
               "%s:%d: line is of %zu bytes, must be text of at most %d", name, number, length,
               MAX_LINE);
      return false;
    }
    memcpy(line, text, length);
    line[length] = 0;
    bool ok = parse_line(s, name, number, line, error);
    free(line);
    if (!ok) return false;
    text = stop + 1;
  }
  return true;
}

// ---- Checking -----------------------------------------------------------------------------------

// "FILE:LINE" of the line that set a field, or "FILE" where none did.
static const char* place_of(const scenario_t* s, const char* name, const char* field,
                            char place[256]) {
  int line = s->lines[find_field(field) - kFields];
  snprintf(place, 256, line ? "%.200s:%d" : "%.200s", name, line);
  return place;
}

static bool check_phase(const scenario_t* s, const phase_t* phase, const char* name,
                        scenario_error_t* error) {
  const portions_t* portions[] = {&phase->compute, &phase->send, &phase->messages};
  static const char* const kNames[] = {"compute", "send", "messages"};
  for (int i = 0; i < 3; ++i) {
    if (portions[i]->count <= 1 || portions[i]->count == s->servers) continue;
    snprintf(error->text, sizeof error->text,
             "%s:%d: %s has %d amounts, must have 1 or one for each of the %g servers", name,
             phase->line, kNames[i], portions[i]->count, s->servers);
    return false;
  }
  return true;
}

bool scenario_check(const scenario_t* s, const char* name, scenario_error_t* error) {
  char place[256];
  if (s->phase_count == 0) {
    snprintf(error->text, sizeof error->text, "%s: has no phase, must have at least one", name);
    return false;
  }
  for (int i = 0; i < s->phase_count; ++i) {
    if (!check_phase(s, &s->phases[i], name, error)) return false;
  }
  if (s->policy == POLICY_ASYNC && s->backup > 0) {
    snprintf(error->text, sizeof error->text, "%s: backup is %g, must be 0 with policy async",
             place_of(s, name, "backup", place), s->backup);
    return false;
  }
  if (s->samples_path && s->lognormal > 0) {
    snprintf(error->text, sizeof error->text, "%s: lognormal is %g, must be 0 with samples",
             place_of(s, name, "lognormal", place), s->lognormal);
    return false;
  }
  double workers = s->workers + s->backup;
  if (workers * s->servers > MAX_PAIRS) {
    snprintf(error->text, sizeof error->text,
             "%s: workers is %g, must be at most %.0f with %g servers",
             place_of(s, name, "workers", place), workers, MAX_PAIRS / s->servers, s->servers);
    return false;
  }
  // Of each phase, worker and server: a call, four parts of a transfer, its delay.
  double events = workers * s->servers * (s->phase_count + 1) * 7;
  if (events * (s->steps + s->warmup) > MAX_EVENTS) {
    snprintf(error->text, sizeof error->text,
             "%s: steps and warmup are %g, must be at most %.0f with %g workers and %g servers",
             place_of(s, name, "steps", place), s->steps + s->warmup, floor(MAX_EVENTS / events),
             workers, s->servers);
    return false;
  }
  return true;
}

// ---- Printing -----------------------------------------------------------------------------------

static void print_portions(FILE* out, const char* name, kind_t kind, const portions_t* portions) {
  for (int i = 0; i < portions->count; ++i) {
    fprintf(out, "%s", i ? ", " : name);
    print_amount(out, kind, portions->values[i]);
  }
  if (portions->is_each) fputs(" each", out);
}

void scenario_print(const scenario_t* s, FILE* out) {
  scenario_t defaults;
  scenario_initialize(&defaults);
  for (int i = 0; i < FIELD_COUNT; ++i) {
    const field_t* field = &kFields[i];
    double value = *value_of((scenario_t*)s, field);
    if (value == *value_of(&defaults, field) && i >= 3) continue;
    fprintf(out, "%s = ", field->name);
    if (field->kind == CHOICE) {
      fputs(field->choices[(int)value], out);
    } else {
      print_amount(out, field->kind, value);
    }
    fputc('\n', out);
  }
  if (s->samples_path) fprintf(out, "samples = %s\n", s->samples_path);
  for (int i = 0; i < s->phase_count; ++i) {
    const phase_t* phase = &s->phases[i];
    fprintf(out, "phase = %s", phase->is_server ? "server" : "worker");
    print_portions(out, " compute ", TIME, &phase->compute);
    print_portions(out, " send ", BYTES, &phase->send);
    print_portions(out, " messages ", PLAIN, &phase->messages);
    if (phase->threads != 1) fprintf(out, " threads %g", phase->threads);
    fputc('\n', out);
  }
}

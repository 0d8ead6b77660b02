// The subcommand leat server: one task of a cluster, which serves until it is told to end. The
// cluster is given on the command line or in TF_CONFIG, as TensorFlow's programs and their
// operators give it.
//
//   --cluster "ps=a:2222;worker=b:2222,c:2222" --job ps --task 0
//   TF_CONFIG={"cluster": {"ps": ["a:2222"], ...}, "task": {"type": "ps", "index": 0}}
//
// Either becomes a ServerDef, the message that TF_NewServer reads; it is encoded here by hand,
// since the tools see the public headers alone.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "tensorflow/c/c_api_server.h"

enum {
  CLUSTER_OPTION, JOB_OPTION, TASK_OPTION, CPUS_OPTION, CONFIG_OPTION, INSECURE_OPTION, JSON_OPTION,
  HEARTBEAT_OPTION, SESSION_OPTION, PARTIAL_OPTION
};

// ---- ServerDef ----------------------------------------------------------------------------------

// Bytes of a message under construction; |failed| once memory was gone.
typedef struct bytes_s {
  unsigned char* data;
  size_t size, capacity;
  bool failed;
} bytes_t;

static void append(bytes_t* bytes, const void* data, size_t size) {
  if (bytes->failed) return;
  if (bytes->size + size > bytes->capacity) {
    const size_t capacity = 2 * (bytes->size + size) + 64;
    unsigned char* grown = realloc(bytes->data, capacity);
    bytes->failed = !grown;
    if (!grown) return;
    bytes->data = grown;
    bytes->capacity = capacity;
  }
  memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

static void append_varint(bytes_t* bytes, unsigned long long value) {
  do {
    const unsigned char byte = (unsigned char)(value & 0x7f) | (value >= 0x80 ? 0x80 : 0);
    append(bytes, &byte, 1);
    value >>= 7;
  } while (value);
}

// Field |number| of text or of a message.
static void append_bytes(bytes_t* bytes, int number, const void* data, size_t size) {
  append_varint(bytes, (unsigned long long)number << 3 | 2);
  append_varint(bytes, size);
  append(bytes, data, size);
}

static void append_number(bytes_t* bytes, int number, unsigned long long value) {
  append_varint(bytes, (unsigned long long)number << 3);
  append_varint(bytes, value);
}

static void append_message(bytes_t* bytes, int number, bytes_t* message) {
  append_bytes(bytes, number, message->data, message->size);
  bytes->failed |= message->failed;
  free(message->data);
  *message = (bytes_t){0};
}

// Adds task |index| to a JobDef: an entry of its map from numbers to addresses.
static void append_task(bytes_t* job, int index, const char* address, size_t size) {
  bytes_t entry = {0};
  append_number(&entry, 1, (unsigned long long)index);
  append_bytes(&entry, 2, address, size);
  append_message(job, 2, &entry);
}

// Reads "ps=a:1;worker=b:1,c:1" into a ClusterDef. false where it is malformed.
static bool read_cluster(const char* text, bytes_t* out_cluster) {
  while (*text) {
    const size_t name = strcspn(text, "=");
    bytes_t job = {0};
    if (text[name] != '=' || name == 0) return false;
    append_bytes(&job, 1, text, name);
    text += name + 1;
    for (int index = 0;; ++index) {
      const size_t address = strcspn(text, ",;");
      append_task(&job, index, text, address);
      text += address;
      if (*text != ',') break;
      ++text;
    }
    append_message(out_cluster, 1, &job);
    if (*text == ';') ++text;
  }
  return out_cluster->size > 0;
}

// Reads the member "cluster" of TF_CONFIG: an object of lists of addresses, or of objects from
// numbers to addresses.
static bool read_jobs(const json_t* jobs, bytes_t* out_cluster) {
  if (!jobs || jobs->kind != JSON_OBJECT) return false;
  for (const json_t* member = jobs->first; member; member = member->next) {
    bytes_t job = {0};
    int index = 0;
    append_bytes(&job, 1, member->name, strlen(member->name));
    if (member->kind != JSON_ARRAY && member->kind != JSON_OBJECT) return false;
    for (const json_t* task = member->first; task; task = task->next, ++index) {
      if (task->kind != JSON_STRING) return false;
      const int number = member->kind == JSON_OBJECT ? atoi(task->name) : index;
      append_task(&job, number, task->text, strlen(task->text));
    }
    append_message(out_cluster, 1, &job);
  }
  return out_cluster->size > 0;
}

// ---- Options ------------------------------------------------------------------------------------

typedef struct server_options_s {
  const char* cluster;
  char job[128];
  int task, cpus;
  int heartbeat_ms, session_s, partial_s;  // below 0: not given; 0: never
  const char* config;  // a ConfigProto in hexadecimal digits
  bool allows_insecure, as_json;
  bytes_t cluster_def;
} server_options_t;

static bool read_number(const char* text, int* out_number) {
  char* end;
  errno = 0;
  const long number = strtol(text, &end, 10);
  *out_number = (int)number;
  return end != text && !*end && !errno && number >= 0 && number <= 1 << 20;
}

// Takes from TF_CONFIG what the command line leaves open.
static int read_environment(server_options_t* options) {
  const char* text = getenv("TF_CONFIG");
  if (!text || (options->cluster && options->job[0] && options->task >= 0)) return EXIT_OK;
  json_t* config = json_parse(text, strlen(text));
  const json_t* task = config ? json_member(config, "task") : NULL;
  const json_t* type = task ? json_member(task, "type") : NULL;
  const json_t* index = task ? json_member(task, "index") : NULL;
  int code = EXIT_OK;
  if (!options->cluster && !read_jobs(config ? json_member(config, "cluster") : NULL,
                                      &options->cluster_def)) {
    code = complain_usage("server", "TF_CONFIG has no cluster that can be read");
  }
  if (!options->job[0] && type && type->kind == JSON_STRING) {
    snprintf(options->job, sizeof options->job, "%s", type->text);
  }
  if (options->task < 0 && index && index->text) read_number(index->text, &options->task);
  json_free(config);
  return code;
}

// Appends the bytes that pairs of hexadecimal digits stand for. false where there are others.
static bool append_digits(bytes_t* bytes, const char* digits) {
  for (; *digits; digits += 2) {
    unsigned value;
    if (strspn(digits, "0123456789abcdefABCDEF") < 2 || sscanf(digits, "%2x", &value) != 1) {
      return false;
    }
    append(bytes, &(unsigned char){(unsigned char)value}, 1);
  }
  return true;
}

static int read_arguments(int argc, char** argv, server_options_t* options) {
  static const option_t known[] = {{"cluster", true}, {"job", true},   {"task", true},
                                   {"cpus", true},    {"config", true}, {"allow-insecure", false},
                                   {"json", false},   {"heartbeat", true},
                                   {"session-timeout", true},
                                   {"partial-run-timeout", true}, {NULL, 0}};
  int* const numbers[] = {[TASK_OPTION] = &options->task,
                          [CPUS_OPTION] = &options->cpus,
                          [HEARTBEAT_OPTION] = &options->heartbeat_ms,
                          [SESSION_OPTION] = &options->session_s,
                          [PARTIAL_OPTION] = &options->partial_s};
  arguments_t arguments = {.command = &command_server, .options = known, .argc = argc,
                           .argv = argv};
  int kind;
  while ((kind = arguments_next(&arguments)) >= ARGUMENT_OPERAND) {
    const char* value = arguments.value;
    if (kind == ARGUMENT_OPERAND) return complain_usage("server", "'%s' is not wanted", value);
    if (kind == CLUSTER_OPTION) options->cluster = value;
    if (kind == JOB_OPTION) snprintf(options->job, sizeof options->job, "%s", value);
    if (kind == JSON_OPTION) options->as_json = true;
    if (kind == INSECURE_OPTION) options->allows_insecure = true;
    if (kind == CONFIG_OPTION && strcmp(value, "-")) options->config = value;
    int* number = kind >= 0 && kind <= PARTIAL_OPTION ? numbers[kind] : NULL;
    if (number && !read_number(value, number)) {
      return complain_usage("server", "'%s' is no number", value);
    }
  }
  if (kind != ARGUMENT_END) return kind == ARGUMENT_HELP ? -1 : arguments_exit_code(kind);
  if (options->cluster && !read_cluster(options->cluster, &options->cluster_def)) {
    return complain_usage("server", "--cluster is '%s', must be JOB=HOST:PORT,...;JOB=...",
                          options->cluster);
  }
  const int code = read_environment(options);
  if (code != EXIT_OK) return code;
  if (options->cluster_def.size == 0) {
    return complain_usage("server", "--cluster and TF_CONFIG are missing");
  }
  bytes_t config = {0};
  const bool has_digits = !options->config || append_digits(&config, options->config);
  free(config.data);
  if (!has_digits) {
    return complain_usage("server", "--config is '%s', must be hexadecimal digits",
                          options->config);
  }
  if (!options->job[0]) return complain_usage("server", "--job is missing");
  if (options->task < 0) options->task = 0;
  return EXIT_OK;
}

// A number of milliseconds, of which 0 stands for never: the message has another number for that.
static unsigned long long patience(int number, int unit_ms) {
  return number ? (unsigned long long)number * (unsigned)unit_ms : (unsigned long long)-1;
}

// Appends to a ConfigProto how often the other tasks are asked for a sign of life: its
// experimental.coordination_config.heartbeat_timeout_in_ms, which is two heartbeats.
static void append_heartbeat(bytes_t* config, int heartbeat_ms) {
  bytes_t coordination = {0}, experimental = {0};
  append_number(&coordination, 5, patience(heartbeat_ms, 2));
  append_message(&experimental, 23, &coordination);
  append_message(config, 16, &experimental);
}

// Makes the ServerDef.
static bytes_t make_server_def(server_options_t* options) {
  bytes_t def = {0}, config = {0};
  append_message(&def, 1, &options->cluster_def);
  append_bytes(&def, 2, options->job, strlen(options->job));
  append_number(&def, 3, (unsigned long long)options->task);
  if (options->cpus > 0) {
    bytes_t entry = {0};
    append_bytes(&entry, 1, "CPU", 3);
    append_number(&entry, 2, (unsigned long long)options->cpus);
    append_message(&config, 1, &entry);
  }
  if (options->config) append_digits(&config, options->config);
  if (options->heartbeat_ms >= 0) append_heartbeat(&config, options->heartbeat_ms);
  if (config.size) append_message(&def, 4, &config);
  append_bytes(&def, 5, "grpc", 4);
  bytes_t own = {0};  // LeatServerOptions
  if (options->session_s >= 0) append_number(&own, 1, patience(options->session_s, 1000));
  if (options->partial_s >= 0) append_number(&own, 2, patience(options->partial_s, 1000));
  if (own.size) append_message(&def, 1015, &own);
  return def;
}

// ---- Serving ------------------------------------------------------------------------------------

static void say(const server_options_t* options, const char* event, const char* target) {
  printf(options->as_json ? "{\"event\": \"%s\", \"job\": \"%s\", \"task\": %d, "
                            "\"target\": \"%s\"}\n"
                          : "%s: /job:%s/task:%d at %s\n",
         event, options->job, options->task, target);
  fflush(stdout);
}

// Waits for the signals that end a server. They are blocked in all threads, so that they come here.
static void wait_for_signal(const sigset_t* signals) {
  int signal_number;
  while (sigwait(signals, &signal_number) != 0) {
  }
}

static bool is_loopback(const char* target) {
  const char* address = target + strlen("grpc://");
  return !strncmp(address, "localhost:", 10) || !strncmp(address, "127.", 4) ||
         !strncmp(address, "[::1]:", 6);
}

static int serve(const server_options_t* options, const bytes_t* def) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  TF_Status* status = TF_NewStatus();
  TF_Server* server = TF_NewServer(def->data, def->size, status);
  int code = EXIT_OK;
  if (server && !options->allows_insecure && !is_loopback(TF_ServerTarget(server))) {
    code = complain("server: the task's address is %s, must be of this machine (localhost): "
                    "whoever reaches it may run graphs on it; --allow-insecure serves it all the "
                    "same",
                    TF_ServerTarget(server));
  } else if (server) {
    TF_ServerStart(server, status);
  }
  if (TF_GetCode(status) != TF_OK) {
    code = complain_status("server", status);
  } else if (code == EXIT_OK) {
    say(options, "serving", TF_ServerTarget(server));
    wait_for_signal(&signals);
    TF_ServerStop(server, status);
    say(options, "stopped", TF_ServerTarget(server));
  }
  TF_DeleteServer(server);
  TF_DeleteStatus(status);
  return code;
}

static int run(int argc, char** argv) {
  server_options_t options = {
      .task = -1, .heartbeat_ms = -1, .session_s = -1, .partial_s = -1};
  int code = read_arguments(argc, argv, &options);
  if (code == EXIT_OK) {
    bytes_t def = make_server_def(&options);
    code = def.failed ? complain("there is no memory") : serve(&options, &def);
    free(def.data);
  }
  free(options.cluster_def.data);
  return code < 0 ? EXIT_OK : code;
}

const command_t command_server = {
    "server", "serves one task of a cluster",
    "Examples:\n"
    "  leat server --cluster 'ps=localhost:2222;worker=localhost:2223' --job ps --task 0\n"
    "  TF_CONFIG='{...}' leat server\n"
    "\n"
    "Usage:\n"
    "  leat server [--cluster JOB=HOST:PORT,...;...] [--job NAME] [--task N] [options]\n"
    "\n"
    "What is not given is taken from the environment variable TF_CONFIG. SIGINT or SIGTERM ends\n"
    "the server. Calls are not encrypted and nobody is asked who they are: whoever reaches the\n"
    "port may run graphs on it. So a task whose address is not of this machine alone is refused\n"
    "without --allow-insecure.\n"
    "\n"
    "Options:\n"
    "  --cpus N       how many CPU devices the task has (1)\n"
    "  --allow-insecure   serve other machines too\n"
    "  --config HEX   the options of its sessions, a ConfigProto in hexadecimal digits; -: none\n"
    "  --heartbeat MS           how often a task that is being waited for is asked for a sign of\n"
    "                           life (5000; 0: never); silence for two ends the steps that wait\n"
    "  --session-timeout S      when a session that nobody uses is closed (86400; 0: never)\n"
    "  --partial-run-timeout S  when a partial run that nobody goes on with is ended (3600;\n"
    "                           0: never)\n"
    "  --json         one JSON object a line\n",
    run};

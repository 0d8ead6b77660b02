// The subcommand leat board: reads its options and serves the logs of training runs, which board/
// does. Options have the names of TensorBoard's where it has them. Only the loopback address is
// served unless a token protects another. Index files go to the user's cache directory, as the XDG
// specification places it; where there is none, nothing is kept between starts. A tool that was
// built without the board says so.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

#ifdef LEAT_HAVE_BOARD
#include "board/board.h"

enum { LOGDIR, HOST, PORT, PATH_PREFIX, TOKEN, CACHE, NO_CACHE, RELOAD, JSON, NOTEBOOK,
       DELETE_RUNS };
static const option_t kOptions[] = {
    {"logdir", true}, {"host", true},      {"port", true},          {"path_prefix", true},
    {"token", true},  {"cache_dir", true}, {"no_cache", false}, {"reload_interval", true},
    {"json", false},  {"notebook", false}, {"delete_runs", false}, {NULL, false}};

// A whole number from 0 to |limit|.
static bool parse_number(const char* text, unsigned long limit, unsigned long* out_number) {
  char* end;
  errno = 0;
  *out_number = strtoul(text, &end, 10);
  return *text >= '0' && *text <= '9' && !*end && !errno && *out_number <= limit;
}

// The directory of index files: $XDG_CACHE_HOME/leat/board, or where that is usually.
static const char* default_cache(char* path, size_t size) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int length = -1;
  if (cache && *cache == '/') {
    length = snprintf(path, size, "%s/leat/board", cache);
  } else if (home && *home == '/') {
    length = snprintf(path, size, "%s/.cache/leat/board", home);
  }
  return length > 0 && (size_t)length < size ? path : NULL;
}

// Removes slashes at the end, but for the one of the root.
static char* trim_path(const char* text) {
  char* path = strdup(text);
  size_t size = path ? strlen(path) : 0;
  while (size > 1 && path[size - 1] == '/') path[--size] = 0;
  return path;
}

static int set_option(int kind, const char* value, board_options_t* options) {
  unsigned long number = 0;
  switch (kind) {
    case LOGDIR: options->logdir = value; break;
    case HOST: options->host = value; break;
    case PATH_PREFIX: options->path_prefix = value; break;
    case TOKEN: options->token = value; break;
    case CACHE: options->cache = value; break;
    case NO_CACHE: options->cache = NULL; break;
    case JSON: options->json = true; break;
    case NOTEBOOK: options->is_framed = true; break;
    case DELETE_RUNS: options->deletes_runs = true; break;
    case PORT:
      if (!parse_number(value, 65535, &number)) {
        return complain_usage("board", "port is '%s', must be a number up to 65535", value);
      }
      options->port = (uint16_t)number;
      break;
    case RELOAD:
      if (!parse_number(value, 86400, &number) || !number) {
        return complain_usage("board", "reload_interval is '%s', must be 1 to 86400 seconds",
                              value);
      }
      options->poll_ms = (uint32_t)number * 1000;
      break;
  }
  return EXIT_OK;
}

// A cookie and a header hold the token, hence what it may be made of.
static bool is_token(const char* token) {
  size_t size = strlen(token);
  return size >= 16 && size <= 256 &&
         strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~") ==
             size;
}

static int serve(board_options_t* options) {
  char message[1024];
  // Another page could lay its own buttons over those of the frame.
  if (options->is_framed && options->deletes_runs) {
    return complain_usage("board", "--delete_runs cannot be had with --notebook");
  }
  if (options->token && !is_token(options->token)) {
    return complain_usage("board",
                          "the token must be 16 to 256 letters, digits, '-', '_', '.', '~'");
  }
  if (*options->path_prefix && *options->path_prefix != '/') {
    return complain_usage("board", "path_prefix is '%s', must begin with '/'",
                          options->path_prefix);
  }
  char* logdir = trim_path(options->logdir);
  char* prefix = trim_path(strcmp(options->path_prefix, "/") ? options->path_prefix : "");
  options->logdir = logdir;
  options->path_prefix = prefix;
  bool done = logdir && prefix && board_serve(options, message, sizeof message);
  free(logdir);
  free(prefix);
  return done ? EXIT_OK : complain("%s", message);
}

static int run(int argc, char** argv) {
  arguments_t arguments = {.command = &command_board, .options = kOptions, .argc = argc,
                           .argv = argv};
  char cache[4096];
  board_options_t options = {.host = "localhost", .port = 6006, .path_prefix = "",
                             .poll_ms = 5000, .token = getenv("LEAT_BOARD_TOKEN"),
                             .cache = default_cache(cache, sizeof cache)};
  int kind;
  while ((kind = arguments_next(&arguments)) != ARGUMENT_END) {
    if (kind == ARGUMENT_HELP || kind == ARGUMENT_WRONG) return arguments_exit_code(kind);
    if (kind == ARGUMENT_OPERAND) {
      return complain_usage("board", "'%s' is not wanted", arguments.value);
    }
    int code = set_option(kind, arguments.value, &options);
    if (code != EXIT_OK) return code;
  }
  if (!options.logdir || !*options.logdir) {
    return complain_usage("board", "--logdir DIR is missing");
  }
  return serve(&options);
}
#else
static int run(int argc, char** argv) {
  (void)argc;
  (void)argv;
  return complain("this program was built without its board: install libmicrohttpd-dev and build "
                  "it again");
}
#endif

const command_t command_board = {
    "board", "serves the logs of training runs, as TensorBoard does",
    "Examples:\n"
    "  leat board --logdir logs                      http://localhost:6006/\n"
    "  leat board --logdir logs --port 0 --json      any free port, which the line tells\n"
    "  leat board --logdir logs --host 0.0.0.0 --token \"$(openssl rand -hex 16)\"\n"
    "\n"
    "Usage:\n"
    "  leat board --logdir DIR [OPTION]...\n"
    "\n"
    "  --logdir DIR          event files lie here and in the directories below, each a run\n"
    "  --port PORT           6006 unless given; 0 takes any that is free\n"
    "  --host ADDRESS        the address to listen at; others than localhost need a token\n"
    "  --token TOKEN         who asks must know it (LEAT_BOARD_TOKEN): as ?token=TOKEN once in\n"
    "                        a browser, or in the header Authorization: Bearer TOKEN\n"
    "  --path_prefix PATH    all addresses begin with it, for a proxy\n"
    "  --reload_interval S   look for new data this often where the system tells of none; 5\n"
    "  --cache_dir DIR       index files, that make a second start quick; ~/.cache/leat/board\n"
    "  --no_cache            write and read no index files\n"
    "  --notebook            pages of other ports of this machine may show it in a frame\n"
    "  --delete_runs         the list of runs can delete them: their event files go for good\n"
    "  --json                the line that tells the address is JSON\n"
    "\n"
    "Ctrl-C and SIGTERM end it. docs/board.md says what it answers.\n",
    run};

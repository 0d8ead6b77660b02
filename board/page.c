// The page at "/": what the server shows and at which addresses.
#include "board/api.h"

static const char kPage[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>Leat board</title>\n"
    "<main>\n"
    "<h1>Leat board</h1>\n"
    "<p>This server answers TensorBoard's read API. It has no charts yet: ask it with a program,\n"
    "or with <code>curl</code>.</p>\n"
    "<ul>\n"
    "<li><a href=\"data/leat/status\">data/leat/status</a>: what is loaded, and what was wrong\n"
    "</li>\n"
    "<li><a href=\"data/runs\">data/runs</a>, <a href=\"data/environment\">data/environment</a>,\n"
    "<a href=\"data/plugins_listing\">data/plugins_listing</a></li>\n"
    "<li><a href=\"data/plugin/scalars/tags\">data/plugin/scalars/tags</a>, then\n"
    "<code>data/plugin/scalars/scalars?run=RUN&amp;tag=TAG</code></li>\n"
    "<li>the same of histograms, distributions, images, audio, text and pr_curves</li>\n"
    "<li><a href=\"data/plugin/graphs/info\">data/plugin/graphs/info</a>, then\n"
    "<code>data/plugin/graphs/graph?run=RUN</code></li>\n"
    "<li><code>data/leat/columns?run=RUN&amp;tag=TAG</code>: many series at once, as numbers</li>\n"
    "<li><code>data/leat/live</code>: server-sent events, one for each change</li>\n"
    "</ul>\n"
    "</main>\n"
    "</html>\n";

leat_status_t board_api_page(board_api_t* api, const board_request_t* request,
                             board_response_t* response) {
  (void)api;
  (void)request;
  response->content_type = "text/html; charset=utf-8";
  leat_string_builder_append(&response->body, leat_string_view_from(kPage));
  return leat_ok_status();
}

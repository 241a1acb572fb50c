// What a library in C must bear: NULL, bytes that are no text, large requests, threads, and several doors.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tapster.h>

#define CHECK(fact)                                          \
  do {                                                       \
    if (!(fact)) {                                           \
      fprintf(stderr, "line %d: not %s\n", __LINE__, #fact); \
      exit(1);                                               \
    }                                                        \
  } while (0)

static const char BUILD[] = "{\"call\":\"build\",\"rules\":\"base\",\"scene\":{\"message\":\"Hello.\",\"now\":\"2026-01-31T20:15:00Z\"}}";

static char *call(tapster_door *door, const char *request, size_t length) {
  return tapster_call(door, (const uint8_t *)request, length);
}

static void refused(tapster_door *door, const char *request, size_t length, const char *code) {
  char *response = call(door, request, length);
  CHECK(response && strstr(response, "\"ok\":false") && strstr(response, code));
  tapster_free_text(response);
}

static void *many(void *door) {
  char *first = call(door, BUILD, sizeof BUILD - 1);
  CHECK(strstr(first, "\"ok\":true"));
  for (int n = 0; n < 5; n++) {
    char *next = call(door, BUILD, sizeof BUILD - 1);
    CHECK(strcmp(first, next) == 0);
    tapster_free_text(next);
  }
  return first;
}

int main(void) {
  CHECK(strcmp(tapster_version(), VERSION) == 0);
  CHECK(tapster_new("no list") == NULL && tapster_new("\xff") == NULL && tapster_new("[1]") == NULL);
  tapster_free(NULL);
  tapster_free_text(NULL);
  CHECK(call(NULL, BUILD, sizeof BUILD - 1) == NULL);
  tapster_door *door = tapster_new("[\"/nowhere\"]"), *other = tapster_new(NULL);
  CHECK(door && other && call(door, NULL, 0) == NULL && call(door, NULL, 9) == NULL && call(door, BUILD, (size_t)-1) == NULL);
  refused(door, "", 0, "syntax.json");
  refused(door, "{\"call\":\"packs\"}\0", 17, "syntax.json");
  refused(door, "\"\xff\"", 3, "syntax.json");
  refused(door, "\"\\ud800\"", 8, "syntax.json");
  size_t large = (64 << 20) + 1;
  char *blanks = malloc(large);
  memset(blanks, '[', large);
  refused(door, blanks, large, "file.too_large");
  refused(door, blanks, large - 1, "syntax.json");
  free(blanks);
  char *nul = call(door, "{\"call\":\"put\",\"name\":\"a\",\"text\":\"\\u0000\"}", 41);
  CHECK(nul && strstr(nul, "\"bytes\":1}"));
  tapster_free_text(nul);

  pthread_t threads[4];
  for (int n = 0; n < 4; n++) CHECK(pthread_create(&threads[n], NULL, many, n % 2 ? door : other) == 0);
  char *answers[4];
  for (int n = 0; n < 4; n++) CHECK(pthread_join(threads[n], (void **)&answers[n]) == 0);
  tapster_free(door);
  char *after = call(other, BUILD, sizeof BUILD - 1);
  tapster_free(other);
  for (int n = 0; n < 4; n++) {
    CHECK(strcmp(after, answers[n]) == 0);
    tapster_free_text(answers[n]);
  }
  tapster_free_text(after);
  puts("hostile requests: ok");
  return 0;
}

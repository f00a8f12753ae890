/* A small library with a leak, to be preloaded into a server: every connection that is accepted costs 112 bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

__attribute__((noinline)) void leak_peer_name(void) {
  void* volatile name = malloc(112);
  memset(name, 1, 112);
  name = NULL;
}

int accept4(int listener, struct sockaddr* address, socklen_t* bytes, int flags) {
  static int (*next)(int, struct sockaddr*, socklen_t*, int);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "accept4");
  const int connection = next(listener, address, bytes, flags);
  if (connection >= 0) leak_peer_name();
  return connection;
}

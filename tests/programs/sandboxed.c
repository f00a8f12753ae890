// usage: sandboxed trap|kill|child: has the kernel refuse what an allocator does not need, and goes on allocating, in
// threads that begin after it as well. trap: a handler answers; kill: the kernel ends the program; child: so in a child
// that has not allocated before. Their children end by _exit, and the others' have done nothing before.
//        sandboxed exit|_exit: has the kernel refuse all but write and the end, and ends so with status 3.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static void answer(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)info;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

static void install(struct sock_filter* filter, unsigned short count) {
  struct sock_fprog program = {count, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    puts("no filters here");
    exit(77);
  }
}

static void refuse_all_but_the_end(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  install(filter, sizeof filter / sizeof filter[0]);
}

static void refuse(unsigned how) {
  const struct rlimit own = {(rlim_t)1 << 40, (rlim_t)1 << 41};
  setrlimit(RLIMIT_AS, &own);
  static const int refused[] = {SYS_prctl,        SYS_open,      SYS_openat,    SYS_creat,    SYS_ftruncate, SYS_unlink,
                                SYS_memfd_create, SYS_prlimit64, SYS_getrlimit, SYS_readlink, SYS_getpid};
  enum { count = sizeof refused / sizeof refused[0] };
  const struct sock_filter advice[] = {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
                                       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
                                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DONTNEED, 1, 0),
                                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_FREE, 0, 1),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  enum { advice_count = sizeof advice / sizeof advice[0] };
  struct sock_filter filter[count + advice_count + 2];
  filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < count; ++i)
    filter[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)refused[i],
                                                 (unsigned char)(count - i - 1 + advice_count), 0);
  memcpy(filter + 1 + count, advice, sizeof advice);
  filter[1 + count + advice_count] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, how);
  install(filter, count + advice_count + 2);
}

__attribute__((noinline)) static void* site_inside(size_t bytes) {
  char* block = malloc(bytes);
  memset(block, 1, bytes);
  return block;
}

static void* in_thread(void* unused) {
  for (size_t i = 1; i <= 2000; ++i) free(site_inside(i));
  free(site_inside(300000));
  return unused;
}

__attribute__((noinline)) static void site_deeper(unsigned times) {
  char* volatile block = malloc(times);
  if (times > 1) site_deeper(times - 1);
  free(block);
}

static void work(void) {
  in_thread(NULL);
  site_deeper(300);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, in_thread, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  struct sigaction action = {0};
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, NULL);
  if (strcmp(how, "exit") == 0 || strcmp(how, "_exit") == 0) {
    free(site_inside(10));
    refuse_all_but_the_end();
    if (write(STDOUT_FILENO, "done\n", 5) != 5) return 1;
    if (how[0] == '_') _exit(3);
    exit(3);
  }
  if (strcmp(how, "child") != 0) {
    refuse(strcmp(how, "trap") == 0 ? SECCOMP_RET_TRAP : SECCOMP_RET_KILL_PROCESS);
    work();
  }
  const pid_t child = fork();
  if (child == 0) {
    if (strcmp(how, "child") != 0) _exit(4);
    refuse(SECCOMP_RET_KILL_PROCESS);
    work();
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child: %#x\n", (unsigned)status);
  return 0;
}

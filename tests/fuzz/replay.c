/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a fuzz corpus without libFuzzer, so that every build runs it: each file named on the
 * command line, or each file in a folder named there, is given to the target once.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    uint8_t *data = malloc(1 << 20);
    size_t size = data ? fread(data, 1, 1 << 20, file) : 0;
    fclose(file);
    if (data) {
        uint8_t *exact = malloc(size ? size : 1); /* exact size: overruns are seen by ASan */
        for (size_t i = 0; exact && i < size; i++) {
            exact[i] = data[i];
        }
        if (exact) {
            LLVMFuzzerTestOneInput(exact, size);
        }
        free(exact);
    }
    free(data);
    return data ? 0 : -1;
}

static int replay_folder(const char *path, int *count)
{
    DIR *folder = opendir(path);
    if (!folder) {
        return -1;
    }
    int result = 0;
    for (struct dirent *entry; (entry = readdir(folder)) && result == 0;) {
        char name[4096];
        struct stat info;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (stat(name, &info) == 0 && S_ISREG(info.st_mode)) {
            result = replay_file(name);
            *count += 1;
        }
    }
    closedir(folder);
    return result;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        int result = -1;
        if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode)) {
            result = replay_folder(argv[i], &count);
        } else {
            result = replay_file(argv[i]);
            count += 1;
        }
        if (result != 0) {
            fprintf(stderr, "cannot replay %s\n", argv[i]);
            return 1;
        }
    }
    printf("%d inputs replayed\n", count);
    return count > 0 ? 0 : 1; /* an empty corpus tests nothing */
}

/* A traffic light: for each number it reads it prints the phase, and holds it for a moment as the task asks. */
#include <stdio.h>
#include <time.h>

enum phase { RED, GREEN, YELLOW };

static const char *name(enum phase phase)
{
    switch (phase) {
    case RED:
        return "red";
    case GREEN:
        return "green";
    default:
        return "yellow";
    }
}

int main(void)
{
    const struct timespec moment = { 0, 500 * 1000 * 1000 };
    int number;

    while (scanf("%d", &number) == 1) {
        puts(name((enum phase)(number % 3)));
        fflush(stdout);
        nanosleep(&moment, NULL);
    }
    return 0;
}

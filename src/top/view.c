/* The live screen: selection, keys and drawing. */
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "top/top.h"

#define MESSAGE_SECONDS 4

struct view {
	struct top *now, *before;
	double seconds, next;
	enum top_order order;
	bool up;
	int selected; /* worker of the selected client; 0 if none */
	bool asking;  /* asking whether to end the selected client */
	bool help;
	char message[TOP_ERROR];
	double message_until;
};

enum { COLOUR_HEAD = 1, COLOUR_BUSY, COLOUR_MEMORY, COLOUR_BAD };

static double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void show_message(struct view *v, const char *text)
{
	snprintf(v->message, sizeof v->message, "%s", text);
	v->message_until = clock_now() + MESSAGE_SECONDS;
}

/* ---- Status ---- */

static int refresh_status(struct view *v)
{
	struct top *old = v->now, *t = v->before;
	char error[TOP_ERROR], *text;
	int err;

	v->next = clock_now() + v->seconds;
	err = server_get_status(old->address, &text, error);
	if (err) {
		show_message(v, error);
		return err;
	}
	memcpy(t->address, old->address, sizeof t->address);
	err = top_read(t, text);
	free(text);
	if (err)
		return err;
	t->at = clock_now();
	top_measure_devices(t);
	top_remove_client(t, (int)getpid());
	top_rates(t, old->at ? old : NULL);
	v->now = t;
	v->before = old;
	return 0;
}

/* ---- Drawing ---- */

static void draw_sparkline(const uint8_t past[TOP_HISTORY], int width)
{
	static const char *const steps[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

	for (int i = width < TOP_HISTORY ? TOP_HISTORY - width : 0; i < TOP_HISTORY; i++)
		addstr(steps[past[i] == 0 ? 0 : 1 + past[i] * 7 / 100]);
}

static void draw_head(const struct view *v)
{
	const struct top *t = v->now;
	time_t now = time(NULL);
	char hour[16];

	strftime(hour, sizeof hour, "%H:%M:%S", localtime(&now));
	attron(A_BOLD);
	mvprintw(0, 0, "gangway top");
	attroff(A_BOLD);
	printw("  %s  %s  %u of %u clients%s  %s", t->address, t->served, t->nclients, t->most,
		t->draining ? ", draining" : "", hour);
}

static int draw_devices(const struct view *v, int y)
{
	const struct top *t = v->now;
	int width = (COLS - 78) / 2;
	char used[16], all[16];

	width = width < 5 ? 5 : width > TOP_HISTORY ? TOP_HISTORY : width;
	for (unsigned i = 0; i < t->ndevices; i++, y++) {
		const struct top_device *d = &t->devices[i];

		mvprintw(y, 0, "%2u %-26.26s ", d->index, d->name);
		if (!d->measured) {
			printw(" busy   -   memory - of %s", top_format_bytes((double)d->memory, all));
			continue;
		}
		printw(" busy %3u %% ", d->busy);
		attron(COLOR_PAIR(COLOUR_BUSY));
		draw_sparkline(d->past_busy, width);
		attroff(COLOR_PAIR(COLOUR_BUSY));
		printw("  %s of %s ", top_format_bytes((double)d->used, used),
			top_format_bytes((double)d->memory, all));
		attron(COLOR_PAIR(COLOUR_MEMORY));
		draw_sparkline(d->past_used, width);
		attroff(COLOR_PAIR(COLOUR_MEMORY));
	}
	return y;
}

static void draw_age(uint64_t since)
{
	uint64_t age = (uint64_t)time(NULL) - since;

	if ((int64_t)age < 0)
		age = 0;
	if (age < 3600)
		printw(" %5u:%02u", (unsigned)age / 60, (unsigned)age % 60);
	else
		printw(" %4uh%02u", (unsigned)(age / 3600), (unsigned)(age / 60 % 60));
}

static void draw_client(const struct view *v, const struct top_client *c, int y)
{
	char user[16], memory[16], quota[16], host[16], up[16], down[16];
	bool chosen = c->worker == v->selected;

	top_format_user(c->user, user, sizeof user);
	if (chosen)
		attron(A_REVERSE);
	mvprintw(y, 0, "%8d %-8.8s %-13.13s %3u %9s %9s %9s %7llu %9.0f %8.0f %8.0f %9s %9s", c->pid, user,
		*c->program ? c->program : "-", c->device, top_format_bytes((double)c->memory, memory),
		top_format_quota(c, quota), top_format_bytes((double)c->host, host), (unsigned long long)c->objects,
		c->calls, c->trips, c->launches, top_format_bytes(c->up, up), top_format_bytes(c->down, down));
	draw_age(c->since);
	if (c->count.errors) {
		attron(COLOR_PAIR(COLOUR_BAD));
		printw(" %llu errors", (unsigned long long)c->count.errors);
		attroff(COLOR_PAIR(COLOUR_BAD));
	}
	if (chosen)
		attroff(A_REVERSE);
}

static void draw_clients(const struct view *v, int y)
{
	const struct top *t = v->now;

	attron(COLOR_PAIR(COLOUR_HEAD) | A_BOLD);
	mvprintw(y, 0, "%8s %-8s %-13s %3s %9s %9s %9s %7s %9s %8s %8s %9s %9s %8s", "PID", "USER", "PROGRAM", "DEV",
		"MEMORY", "QUOTA", "HOST", "OBJECTS", "CALLS/s", "TRIPS/s", "LAUNCH/s", "UP/s", "DOWN/s", "TIME");
	attroff(COLOR_PAIR(COLOUR_HEAD) | A_BOLD);
	for (unsigned i = 0; i < t->nlines && ++y < LINES - 1; i++)
		draw_client(v, &t->clients[i], y);
}

static const struct top_client *selected_client(const struct view *v)
{
	for (unsigned i = 0; i < v->now->nlines; i++)
		if (v->now->clients[i].worker == v->selected)
			return &v->now->clients[i];
	return NULL;
}

static void draw_foot(const struct view *v)
{
	const struct top_client *c = selected_client(v);

	move(LINES - 1, 0);
	if (v->asking && c)
		printw("End client %d (%s)? Its program will get errors.  y: yes   any other key: no", c->pid,
			c->program);
	else if (clock_now() < v->message_until)
		printw("%s", v->message);
	else if (v->help)
		printw("up/down: select   k: end the selected client   s: sort by the next column   r: reverse the "
		       "order   q: "
		       "quit");
	else
		printw("sorted by %s%s   q quit   s sort   r reverse   k end a client   h help",
			top_order_names[v->order], v->up ? ", smallest first" : "");
}

static void draw_screen(struct view *v)
{
	int y;

	top_sort(v->now, v->order, v->up);
	erase();
	draw_head(v);
	y = draw_devices(v, 2);
	draw_clients(v, y + 1);
	draw_foot(v);
	refresh();
}

/* ---- Keys ---- */

static void select_client(struct view *v, int step)
{
	int at = step > 0 ? -1 : (int)v->now->nlines;

	for (unsigned i = 0; i < v->now->nlines; i++)
		if (v->now->clients[i].worker == v->selected)
			at = (int)i;
	at += step;
	if (at >= 0 && at < (int)v->now->nlines)
		v->selected = v->now->clients[at].worker;
}

static void end_selected_client(struct view *v)
{
	char error[TOP_ERROR], text[TOP_ERROR];
	const struct top_client *c = selected_client(v);

	if (!c)
		return;
	snprintf(text, sizeof text, "the session of client %d was ended", c->pid);
	show_message(v, server_end_client(v->now->address, c->worker, error) ? error : text);
	v->next = 0;
}

/* Returns false to quit. */
static bool handle_key(struct view *v, int key)
{
	if (v->asking) {
		v->asking = false;
		if (key == 'y' || key == 'Y')
			end_selected_client(v);
		return true;
	}
	switch (key) {
	case 'q':
	case 27:
		return false;
	case 's':
		v->order = (v->order + 1) % TOP_ORDERS;
		break;
	case 'r':
		v->up = !v->up;
		break;
	case 'h':
	case '?':
		v->help = !v->help;
		break;
	case KEY_DOWN:
	case 'j':
		select_client(v, 1);
		break;
	case KEY_UP:
		select_client(v, -1);
		break;
	case 'k':
		v->asking = selected_client(v) != NULL;
		if (!v->asking)
			show_message(v, "select a client first, with the up and down keys");
		break;
	}
	return true;
}

static void init_colours(void)
{
	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(COLOUR_HEAD, COLOR_CYAN, -1);
	init_pair(COLOUR_BUSY, COLOR_GREEN, -1);
	init_pair(COLOUR_MEMORY, COLOR_BLUE, -1);
	init_pair(COLOUR_BAD, COLOR_RED, -1);
}

int top_run_view(struct top *t, double seconds, char error[TOP_ERROR])
{
	struct view v = {.now = t, .before = calloc(1, sizeof *t), .seconds = seconds, .next = t->at + seconds};
	struct top *second = v.before;
	bool more = true;

	if (!second)
		return snprintf(error, TOP_ERROR, "out of memory"), -ENOMEM;
	setlocale(LC_ALL, "");
	if (!isatty(STDOUT_FILENO) || !newterm(NULL, stdout, stdin)) {
		free(second);
		return snprintf(error, TOP_ERROR, "standard output is not a suitable terminal; use gangway top --once"),
		       -ENOTTY;
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	set_escdelay(50);
	init_colours();
	while (more) {
		double left = v.next - clock_now();
		int key;

		draw_screen(&v);
		timeout(left < 0.02 ? 20 : left > 1 ? 1000 : (int)(left * 1000));
		key = getch();
		if (key != ERR)
			more = handle_key(&v, key);
		if (clock_now() >= v.next)
			refresh_status(&v);
	}
	endwin();
	free(second);
	return 0;
}

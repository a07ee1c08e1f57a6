/*
 * GObject: objects of one type.  The adapter replaces two functions of the type's
 * class: constructed(), called when an object is made, and finalize(), called before
 * its memory is given back.  Code that uses the objects does not change.
 *
 *	cc gobject.c $(pkg-config --cflags --libs alloclog gio-2.0)
 *
 * Prints how many objects a list of GLib's holds, as "TYPE BLOCKS BYTES", and goes
 * on with each line of standard input.
 */
#include <gio/gio.h>
#include <stdio.h>

#include <alloclog.h>

#define ACTION 0xc1

/* --- the adapter ---------------------------------------------------------- */

struct logged_type {
	unsigned code;
	void (*constructed)(GObject *);		/* the class's own */
	void (*finalize)(GObject *);
};

static GQuark
logged_quark(void)
{
	return g_quark_from_static_string("alloclog");
}

/* The entry of the object's type, or of the nearest type that it is derived from. */
static const struct logged_type *
logged_type_of(GObject *object)
{
	const struct logged_type *logged = NULL;

	for (GType t = G_OBJECT_TYPE(object); t != 0 && logged == NULL;
	    t = g_type_parent(t))
		logged = g_type_get_qdata(t, logged_quark());
	return logged;
}

static void
logged_constructed(GObject *object)
{
	const struct logged_type *logged = logged_type_of(object);
	GTypeQuery type;

	logged->constructed(object);
	g_type_query(G_OBJECT_TYPE(object), &type);
	alloclog_alloc(object, type.instance_size, logged->code);
}

static void
logged_finalize(GObject *object)
{
	alloclog_free(object);
	logged_type_of(object)->finalize(object);
}

/*
 * Before the first object of the type.  Derived types that are used later are
 * logged with it, so log a type or one that it is derived from, not both.
 */
static void
logged_type_add(GType type, unsigned code)
{
	GObjectClass *class = g_type_class_ref(type);
	struct logged_type *logged = g_new(struct logged_type, 1);

	logged->code = code;
	logged->constructed = class->constructed;
	logged->finalize = class->finalize;
	g_type_set_qdata(type, logged_quark(), logged);
	class->constructed = logged_constructed;
	class->finalize = logged_finalize;
	alloclog_type(code, "GOBJECT", g_type_name(type));
}

/* --- a program that uses it ------------------------------------------------- */

static void
say(GListStore *store)
{
	guint n = g_list_model_get_n_items(G_LIST_MODEL(store));
	GTypeQuery type;

	g_type_query(G_TYPE_SIMPLE_ACTION, &type);
	printf("GOBJECT %u %zu\n", n, (size_t)n * type.instance_size);
	fflush(stdout);
	while (getchar() != '\n' && !feof(stdin))
		continue;
}

int
main(void)
{
	GListStore *store = g_list_store_new(G_TYPE_SIMPLE_ACTION);
	GSimpleAction *kept;

	logged_type_add(G_TYPE_SIMPLE_ACTION, ACTION);
	for (unsigned i = 0; i < 200; i++) {
		GSimpleAction *action = g_simple_action_new("action", NULL);

		g_list_store_append(store, action);
		g_object_unref(action);
	}
	say(store);
	/* One that the program still holds lives on, and returns to the list. */
	kept = g_list_model_get_item(G_LIST_MODEL(store), 7);
	g_list_store_splice(store, 0, 150, NULL, 0);
	g_list_store_append(store, kept);
	g_object_unref(kept);
	say(store);
	g_list_store_remove_all(store);
	say(store);
	g_object_unref(store);
	return 0;
}

#include "server/code/code.h"

const struct served served_code[] = {
	{WIRE_IMAGE, serve_image, true},
	{WIRE_NAME_OF, serve_name, true},
	{WIRE_CLUSTER, serve_cluster, true},
	{WIRE_LINK_CREATE, serve_link_create, true},
	{WIRE_LINK_ADD, serve_link_add, true},
	{WIRE_LINK_COMPLETE, serve_link_complete, true},
	{WIRE_LINK_TAKE, serve_link_take, true},
	{WIRE_LISTEN, serve_listen, true},
	{WIRE_CALLED, serve_called, false},
	{WIRE_HOST_CALL, serve_host_call, false},
	{WIRE_OBJECT, serve_object, true},
	{WIRE_NODE, serve_node, true},
	{WIRE_NODE_GET, serve_node_get, true},
	{WIRE_NODE_ATTRIBUTE, serve_node_attribute, true},
	{WIRE_CAPTURE_INFO, serve_capture_info, true},
	{WIRE_INSTANTIATE, serve_instantiate, true},
	{WIRE_UPDATE, serve_update, true},
	{WIRE_DOT, serve_dot, true},
};

const unsigned served_code_count = sizeof served_code / sizeof *served_code;

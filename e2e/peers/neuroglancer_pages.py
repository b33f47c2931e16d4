"""Serves neuroglancer's page, with the state that draws an array, for each array asked for.

stdin: one line, {"pictures": [{"source": address of a Zarr array, "axes": [name, ...], "size": [width, height]}]}: the first
axis is drawn to the right, at one item a pixel, on blue. stdout: one line, a list of addresses of pages, or null if there is
no neuroglancer. The pages are there until stdin ends.
"""
import json
import sys

try:
    import neuroglancer
except ImportError as e:
    print(e, file=sys.stderr)
    neuroglancer = None

SHADER = "void main() { emitGrayscale(toNormalized(getDataValue())); }"


def page(picture):
    viewer = neuroglancer.Viewer()
    with viewer.config_state.txn() as c:
        c.show_ui_controls = False
        c.show_panel_borders = False
    viewer.set_state({
        "dimensions": {name: [1, ""] for name in picture["axes"]},
        "displayDimensions": picture["axes"],
        "position": [n / 2 for n in picture["size"]],
        "crossSectionScale": 1,
        "layers": [{"type": "image", "name": "a", "source": "zarr3://" + picture["source"] + "/", "shader": SHADER, "opacity": 1}],
        "showAxisLines": False, "showScaleBar": False, "showDefaultAnnotations": False,
        "layout": "xy", "crossSectionBackgroundColor": "#0000ff",
    })
    return viewer


def main():
    job = json.loads(sys.stdin.readline())
    if neuroglancer is None:
        print("null", flush=True)
        return
    neuroglancer.set_server_bind_address("127.0.0.1")
    viewers = [page(p) for p in job["pictures"]]
    print(json.dumps([v.get_viewer_url() for v in viewers]), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

// To come: how to read what is shown elsewhere.

export async function mount(box, ctx, getShown) {
  return { destroy() {} };
}

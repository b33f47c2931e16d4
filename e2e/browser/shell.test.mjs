import assert from "node:assert/strict";
import test from "node:test";
import { data, page, serve } from "./ground.mjs";

const { folder } = await data();
const { url } = await serve(`d=${folder}/`);

test("the roots, a folder, a dataset", async () => {
  await page(`${url}`, async (p) => {
    await p.getByRole("link", { name: "weather.b2nd" }).click();
    await p.getByRole("heading", { name: "weather.b2nd" }).waitFor();
    await p.shot("smoke");
  });
});

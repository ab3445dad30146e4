/** Goes through every row of a list, asking for a page when the one before is used up. Break the loop to stop asking. */
export async function* eachRow<Page extends { nextCursor: string | null }, Row>(
  readPage: (cursor: string | undefined) => Promise<Page>,
  rowsOf: (page: Page) => Row[],
  from: string | undefined,
): AsyncGenerator<Row, void, undefined> {
  for (let cursor = from; ; ) {
    const page = await readPage(cursor);
    yield* rowsOf(page);
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}

type Page = { ids: string[]; nextCursor: string | null };

/** Every page, one after the other, the first one without a cursor. `read` asks for one page and names its rows. */
export async function walkPages(read: (query: Record<string, string>) => Promise<Page>): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page: Page = await read(cursor === undefined ? {} : { cursor });
    pages.push(page.ids);
    cursor = page.nextCursor;
  }
  return pages;
}

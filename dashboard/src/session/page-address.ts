/** Where links in mails lead back to: this page, without what stands behind the #. */
export const pageAddress = (): string => window.location.href.split("#")[0] ?? window.location.origin;

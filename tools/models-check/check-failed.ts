/** The check could not be made, which says nothing of the rows: no network, a wrong token, no such database. */
export class CheckFailed extends Error {}
